# The fingerprint's digest of what decides an answer's bits (tools/build_digest.py). Who links to the engine links to it.
#
# A build for any processor has that of the sources, the compiler and the options that its code depends on, so that the
# program, the library and the wheel of one state of the sources have the same. Other builds are of one machine and of
# whatever options somebody tries there: theirs is of the compiled objects. Portable bits have a digest of the sources
# alone in every build.
find_program(OCTAVO_PYTHON3 python3 REQUIRED)
set(digest_tool ${PROJECT_SOURCE_DIR}/tools/build_digest.py)
set(digested_layers base template toolcalls json tensor source tokenizer chat convert constraint kernels kv attention
  model cpu gpu sampler engine)

set(digested CMakeLists.txt cmake/warnings.cmake cmake/hardening.cmake cmake/isa_levels.cmake cmake/layer.cmake include)
list(TRANSFORM digested_layers PREPEND src/ OUTPUT_VARIABLE folders)
list(APPEND digested ${folders})
set(digest_files)
foreach(place IN LISTS digested)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${place} ${PROJECT_SOURCE_DIR}/${place}/*)
  list(APPEND digest_files ${files})
endforeach()
set(digest_words ${digested} --root ${PROJECT_SOURCE_DIR})

if(octavo_isa_levels STREQUAL octavo_all_isa_levels)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} --version OUTPUT_VARIABLE compiler COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "^[^\n]*" compiler "${compiler}")
  list(APPEND digest_words --words ${CMAKE_SYSTEM_PROCESSOR} "${compiler}")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  foreach(name CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_${type} OCTAVO_SANITIZE OCTAVO_INTEGRITY_CHECKS
          OCTAVO_HARDENING)
    list(APPEND digest_words ${name}=${${name}})
  endforeach()
else()
  list(TRANSFORM digested_layers REPLACE "(.+)" "$<TARGET_FILE:octavo_\\1>" OUTPUT_VARIABLE archives)
  list(APPEND digest_files ${archives})
  list(APPEND digest_words --archives ${archives})
endif()

add_custom_command(OUTPUT build_digest.cc
  COMMAND ${OCTAVO_PYTHON3} ${digest_tool} ${CMAKE_CURRENT_BINARY_DIR}/build_digest.cc ${digest_words}
  DEPENDS ${digest_tool} ${digest_files} VERBATIM)
add_library(octavo_build_digest STATIC ${CMAKE_CURRENT_BINARY_DIR}/build_digest.cc)
target_compile_features(octavo_build_digest PRIVATE cxx_std_23)
target_include_directories(octavo_build_digest PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(octavo_engine INTERFACE octavo_build_digest)
