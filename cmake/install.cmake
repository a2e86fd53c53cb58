# `cmake --install`: the program, the public headers, the static libraries and a package, so that another project says
#     find_package(Octavo REQUIRED)                 target_link_libraries(... Octavo::octavo)   the engine
#     find_package(Octavo REQUIRED COMPONENTS kv)   target_link_libraries(... Octavo::kv)       the KV memory alone
# Other languages take include/octavo.h and liboctavo.so.
# The KV memory asks for fewer libraries than the engine, so each has an export set and a file of targets.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Octavo)

# octavo_install_set(NAME layers...): the layers' libraries, exported as Octavo::LAYER in OctavoNAMETargets.cmake.
function(octavo_install_set name)
  foreach(layer IN LISTS ARGN)
    set_target_properties(octavo_${layer} PROPERTIES EXPORT_NAME ${layer})
    install(TARGETS octavo_${layer} EXPORT Octavo${name}Targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
  install(EXPORT Octavo${name}Targets NAMESPACE Octavo:: DESTINATION ${package_dir})
endfunction()

# octavo_name_interface(LAYER NAME): the topmost layer of a set is what others link to, as Octavo::NAME; also those who
# have us as a subdirectory.
function(octavo_name_interface layer name)
  set_target_properties(octavo_${layer} PROPERTIES EXPORT_NAME ${name})
  add_library(Octavo::${name} ALIAS octavo_${layer})
endfunction()

octavo_install_set(Kv base tensor kernels kv attention kv_library)
set_target_properties(octavo_kv PROPERTIES EXPORT_NAME kv_memory)
octavo_name_interface(kv_library kv)
octavo_install_set(Engine vision template json toolcalls source tokenizer chat convert constraint kv_events kv_store model stage cpu gpu sampler engine build_digest)
octavo_name_interface(engine octavo)

# The C interface: a header and a shared library that has everything inside.
install(TARGETS octavo_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/octavo.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/octavo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/OctavoConfig.cmake.in OctavoConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(OctavoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/OctavoConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/OctavoConfigVersion.cmake
  DESTINATION ${package_dir})
