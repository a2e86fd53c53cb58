# What builds and tests take: units, links and tests append their times to a table in the build folder (tools/timed.py),
# which tools/test_times.py reads.
option(OCTAVO_TIMES "Keep the processor time of every unit and link" OFF)
if(OCTAVO_TIMES OR OCTAVO_BUILD_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # What is on the path may be a script that looks for the interpreter, at several times its cost.
  execute_process(COMMAND ${Python3_EXECUTABLE} -I -S -c "import sys; print(sys.executable, end='')"
    OUTPUT_VARIABLE octavo_plain_python COMMAND_ERROR_IS_FATAL ANY)
endif()

# octavo_timed(VARIABLE KIND NAME): sets VARIABLE to the words that stand before a command whose times are kept.
function(octavo_timed variable kind name)
  set(${variable} ${octavo_plain_python} -I -S ${PROJECT_SOURCE_DIR}/tools/timed.py ${PROJECT_BINARY_DIR}/times.tsv
    ${kind} ${name} PARENT_SCOPE)
endfunction()

if(OCTAVO_TIMES)
  foreach(language C CXX)
    octavo_timed(timed unit -o)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${timed} ${CMAKE_${language}_COMPILER_LAUNCHER})
    octavo_timed(timed link -o)
    set(CMAKE_${language}_LINKER_LAUNCHER ${timed} ${CMAKE_${language}_LINKER_LAUNCHER})
  endforeach()
endif()
