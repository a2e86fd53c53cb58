# octavo_layer(NAME SOURCES files... DEPENDS layers... LINK libraries...)
# A layer of the design: a static library octavo_NAME that sees the layers below it. Who builds against an installed
# Octavo gets the public headers and the language standard, but none of our flags (cmake/install.cmake).
function(octavo_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(octavo_${name} STATIC ${ARG_SOURCES})
  add_library(Octavo::${name} ALIAS octavo_${name})
  target_link_libraries(octavo_${name} PUBLIC $<BUILD_INTERFACE:octavo_flags> Threads::Threads)
  target_compile_features(octavo_${name} PUBLIC cxx_std_23)
  target_include_directories(octavo_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(layer IN LISTS ARG_DEPENDS)
    target_link_libraries(octavo_${name} PUBLIC octavo_${layer})
  endforeach()
  target_link_libraries(octavo_${name} PUBLIC ${ARG_LINK})
endfunction()

# octavo_test(NAME SOURCES files... LINK libraries...)
# A GoogleTest program test_NAME whose every test case is a CTest test. Models for tests are in the folder that the
# environment variable OCTAVO_TEST_DATA names.
function(octavo_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE octavo_flags ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE OCTAVO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 600 ENVIRONMENT "OCTAVO_TEST_DATA=${OCTAVO_TEST_DATA}")
endfunction()
