# One set of flags for every target. The compiler must not choose how floats are
# rounded: fused multiply-add is used only where the source names it.
add_library(octavo_flags INTERFACE)
target_compile_options(octavo_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror=return-type -ffp-contract=off)
# GCC looks for garbage from 256 MiB on, half of which a precompiled header has brought; it costs 4 to 8 % less time to
# begin at 1 GiB, which a unit of many files reaches anyway.
target_compile_options(octavo_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
target_include_directories(octavo_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
# The linker's hash of what it has written, for debuggers: the same content has the same.
target_link_options(octavo_flags INTERFACE -Wl,--build-id=sha1)
include(${CMAKE_CURRENT_LIST_DIR}/hardening.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/same_bytes.cmake)
if(OCTAVO_SANITIZE)
  target_compile_options(octavo_flags INTERFACE -fsanitize=${OCTAVO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(octavo_flags INTERFACE -fsanitize=${OCTAVO_SANITIZE})
endif()
if(OCTAVO_INTEGRITY_CHECKS)
  target_compile_definitions(octavo_flags INTERFACE OCTAVO_INTEGRITY_CHECKS=1)
endif()
