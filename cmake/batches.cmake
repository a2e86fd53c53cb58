# Batches: the small files of a layer, or of a test program, are compiled as a few units (tools/source_batches.py). Where
# no Python is found, and with OCTAVO_BATCHES=OFF, each file is a unit of its own: slower in all, quicker for one who
# edits a single file again and again.
option(OCTAVO_BATCHES "Compile a layer's files in batches" ON)
find_package(Python3 QUIET COMPONENTS Interpreter)

# octavo_batch(VARIABLE NAME ROOT MOST sources...): sets VARIABLE to what to compile in place of sources, at most MOST in a
# batch; ROOT is on the include path. Only files of the folder itself are joined: one that several programs share may
# replace what all else relies on. Configuring once more joins anew, which is what to do when files of a batch came to give
# the same name.
function(octavo_batch variable name root most)
  set(sources)
  set(apart)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR ${source} is_below)
    if(is_below)
      list(APPEND sources ${source})
    else()
      list(APPEND apart ${source})
    endif()
  endforeach()
  if(sources AND OCTAVO_BATCHES AND Python3_Interpreter_FOUND)
    execute_process(
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/source_batches.py --root ${root} --most ${most}
              --out ${CMAKE_CURRENT_BINARY_DIR}/batches_${name} ${sources}
      OUTPUT_VARIABLE sources COMMAND_ERROR_IS_FATAL ANY)
  endif()
  set(${variable} ${sources} ${apart} PARENT_SCOPE)
endfunction()
