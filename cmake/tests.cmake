# How tests are entered into CTest.

# What the dear tests take: CTest starts the longest first, and knows what they took only once they ran in this folder.
# A line is a name and seconds of wall time; tools/test_times.py --write-costs writes them. A script without one is taken
# for a long test, and another test for a short one.
set(octavo_costs_file ${PROJECT_SOURCE_DIR}/tests/costs.tsv)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${octavo_costs_file})
file(STRINGS ${octavo_costs_file} octavo_costs)

# octavo_add_test(NAME name [KIND kind] COMMAND program arguments...): add_test, whose times are kept in the table of
# kind (test unless said), and which starts in the order of tests/costs.tsv.
function(octavo_add_test)
  cmake_parse_arguments(ARG "" "NAME;KIND" "COMMAND" ${ARGN})
  if(NOT ARG_KIND)
    set(ARG_KIND test)
  endif()
  list(POP_FRONT ARG_COMMAND program)
  if(TARGET ${program})
    set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}>)
  endif()
  octavo_timed(timed ${ARG_KIND} ${ARG_NAME})
  add_test(NAME ${ARG_NAME} COMMAND ${timed} ${program} ${ARG_COMMAND})
  string(REPLACE "." "\\." pattern ${ARG_NAME})
  set(cost ${octavo_costs})
  list(FILTER cost INCLUDE REGEX "^${pattern}\t")
  string(REGEX REPLACE "^.*\t" "" cost "${cost}")
  if(NOT cost AND ARG_KIND STREQUAL script)
    set(cost 30)
  endif()
  if(cost)
    set_tests_properties(${ARG_NAME} PROPERTIES COST ${cost})
  endif()
endfunction()

# Tests are compiled oftener than they run: full optimization of them is not worth its time.
function(octavo_test_flags target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# The only unit of tests that knows where the repository lies.
add_library(octavo_source_dir STATIC ${PROJECT_SOURCE_DIR}/tests/support/source_dir.cc)
target_include_directories(octavo_source_dir PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(octavo_source_dir PRIVATE OCTAVO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(octavo_source_dir PRIVATE octavo_flags)

# octavo_test(NAME SOURCES files... LINK libraries... PRECOMPILE headers... PRECOMPILED_BY test SHARDS number)
# A GoogleTest program test_NAME, which is one CTest entry, or so many that each runs its share of the cases: a program that
# takes long, so that several processors have their part of it. Models for tests are in the folder that the environment
# variable OCTAVO_TEST_DATA names.
function(octavo_test name)
  cmake_parse_arguments(ARG "" "PRECOMPILED_BY;SHARDS" "SOURCES;LINK;PRECOMPILE" ${ARGN})
  octavo_batch(sources test_${name} ${PROJECT_SOURCE_DIR}/tests 24 ${ARG_SOURCES})  # what their headers cost, some 5 s, is paid once a unit
  add_executable(test_${name} ${sources})
  octavo_test_flags(test_${name})
  if(ARG_PRECOMPILE)
    octavo_precompile(test_${name} ${octavo_test_headers} ${ARG_PRECOMPILE})
  elseif(ARG_PRECOMPILED_BY)
    octavo_precompiled_by(test_${name} test_${ARG_PRECOMPILED_BY})
  else()
    octavo_precompile_shared(test_${name} test_headers EXECUTABLE ${octavo_test_headers})
  endif()
  target_link_libraries(test_${name} PRIVATE octavo_flags octavo_source_dir ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  # A shard takes some 15 s on a quick processor, and up to thirty times that with a sanitizer or in an emulator.
  set(timeout 600)
  if(OCTAVO_SANITIZE OR CMAKE_CROSSCOMPILING)
    set(timeout 1800)
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  math(EXPR limit "${timeout} + 60")
  foreach(shard RANGE ${last})
    set(entry ${name})
    set(environment "OCTAVO_TEST_DATA=${OCTAVO_TEST_DATA}")
    if(ARG_SHARDS GREATER 1)
      math(EXPR number "${shard} + 1")
      set(entry ${name}.${number}of${ARG_SHARDS})
      list(APPEND environment GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${shard})
    endif()
    octavo_add_test(NAME ${entry} KIND program COMMAND ${octavo_plain_python} -I -S
      ${PROJECT_SOURCE_DIR}/tools/run_gtest.py --timeout ${timeout}
      ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:test_${name}>)
    set_tests_properties(${entry} PROPERTIES TIMEOUT ${limit} ENVIRONMENT "${environment}")
  endforeach()
endfunction()
