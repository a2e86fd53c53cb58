# The layers up to the kernels and their tests, for a machine whose other libraries are not at hand: fmt as headers and
# GoogleTest from its sources are all that they need.
set(gtest_sources /usr/src/googletest CACHE PATH "GoogleTest's sources (Debian: googletest)")
set(fmt_headers /usr/include/fmt CACHE PATH "fmt's headers")

find_package(Threads REQUIRED)
# Only fmt may be found there, not the headers of the building machine's system.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${fmt_headers} ${CMAKE_BINARY_DIR}/include/fmt SYMBOLIC)
add_library(octavo_fmt_headers INTERFACE)
target_include_directories(octavo_fmt_headers SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/include)
target_compile_definitions(octavo_fmt_headers INTERFACE FMT_HEADER_ONLY=1)
add_library(fmt::fmt ALIAS octavo_fmt_headers)

set(INSTALL_GTEST OFF)
add_subdirectory(${gtest_sources} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
foreach(name gmock gtest_main)
  if(NOT TARGET GTest::${name})
    add_library(GTest::${name} ALIAS ${name})
  endif()
endforeach()

foreach(layer base tensor kernels)
  add_subdirectory(src/${layer})
endforeach()
enable_testing()
include(cmake/tests.cmake)
add_subdirectory(tests/emulated_isa)
add_subdirectory(tests/kernels)
