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
  octavo_batch(sources ${name} ${PROJECT_SOURCE_DIR}/src 12 ${ARG_SOURCES})
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
