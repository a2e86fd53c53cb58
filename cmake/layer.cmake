include(${CMAKE_CURRENT_LIST_DIR}/batches.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/precompiled.cmake)

# octavo_layer(NAME SOURCES files... DEPENDS layers... LINK libraries... PRECOMPILE headers... PRECOMPILED_BY layer
# OPTIMIZE option) A layer of the design: a static library octavo_NAME that sees the layers below it. A project that
# builds against an installed Octavo gets the public headers and the language standard, but none of our flags
# (cmake/install.cmake). Headers to precompile are those of libraries that take long to read; a layer without any shares
# the standard ones, and one that is PRECOMPILED_BY another takes that layer's, with the same OPTIMIZE. OPTIMIZE, such as
# -O1, is for layers with such headers where nothing is hot: they take the compiler a quarter less than with -O3.
function(octavo_layer name)
  cmake_parse_arguments(ARG "" "OPTIMIZE;PRECOMPILED_BY" "SOURCES;DEPENDS;LINK;PRECOMPILE" ${ARGN})
  octavo_batch(sources ${name} ${PROJECT_SOURCE_DIR}/src ${ARG_SOURCES})
  add_library(octavo_${name} STATIC ${sources})
  target_link_libraries(octavo_${name} PUBLIC $<BUILD_INTERFACE:octavo_flags> Threads::Threads)
  target_compile_features(octavo_${name} PUBLIC cxx_std_23)
  target_include_directories(octavo_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(layer IN LISTS ARG_DEPENDS)
    target_link_libraries(octavo_${name} PUBLIC octavo_${layer})
  endforeach()
  target_link_libraries(octavo_${name} PUBLIC ${ARG_LINK})
  if(ARG_OPTIMIZE)
    target_compile_options(octavo_${name} PRIVATE $<$<CONFIG:Release>:${ARG_OPTIMIZE}>)
  endif()
  if(ARG_PRECOMPILE)
    octavo_precompile(octavo_${name} ${ARG_PRECOMPILE})
  elseif(ARG_PRECOMPILED_BY)
    octavo_precompiled_by(octavo_${name} octavo_${ARG_PRECOMPILED_BY})
  else()
    octavo_precompile_shared(octavo_${name} standard_headers LIBRARY)
  endif()
endfunction()

# Tests are compiled oftener than they run: full optimization of them is not worth its time.
function(octavo_test_flags target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# octavo_test(NAME SOURCES files... LINK libraries... PRECOMPILE headers... PRECOMPILED_BY test)
# A GoogleTest program test_NAME whose every test case is a CTest test. Models for tests are in the folder that the
# environment variable OCTAVO_TEST_DATA names.
function(octavo_test name)
  cmake_parse_arguments(ARG "" "PRECOMPILED_BY" "SOURCES;LINK;PRECOMPILE" ${ARGN})
  octavo_batch(sources test_${name} ${PROJECT_SOURCE_DIR}/tests ${ARG_SOURCES})
  add_executable(test_${name} ${sources})
  octavo_test_flags(test_${name})
  if(ARG_PRECOMPILE)
    octavo_precompile(test_${name} ${octavo_test_headers} ${ARG_PRECOMPILE})
  elseif(ARG_PRECOMPILED_BY)
    octavo_precompiled_by(test_${name} test_${ARG_PRECOMPILED_BY})
  else()
    octavo_precompile_shared(test_${name} test_headers EXECUTABLE ${octavo_test_headers})
  endif()
  target_link_libraries(test_${name} PRIVATE octavo_flags ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE OCTAVO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 600 ENVIRONMENT "OCTAVO_TEST_DATA=${OCTAVO_TEST_DATA}")
endfunction()
