# `cpack -G DEB` makes a Debian package of the program with its service, whose libraries are Debian's; `cpack -G TGZ` a
# folder that runs wherever it is put, with its libraries beside it, the C library and its loader too.
set(CPACK_PACKAGE_NAME octavo)
set(CPACK_PACKAGE_VENDOR "Octavo")
set(CPACK_PACKAGE_CONTACT "Octavo's maintainers <maintainers@octavo.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_OCTAVO_ISA_LEVELS "${octavo_isa_levels}")
set(CPACK_OCTAVO_ALL_ISA_LEVELS "${octavo_all_isa_levels}")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/packages_of_generator.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/packages_before_packing.cmake)
set(CPACK_COMPONENTS_ALL program folder service)  # each generator takes its own
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION misc)
set(CPACK_SYSTEM_NAME ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
foreach(names x86_64=amd64 aarch64=arm64)  # Debian has names of its own
  if(names MATCHES "^${CMAKE_SYSTEM_PROCESSOR}=(.*)$")
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${CMAKE_MATCH_1})
  endif()
endforeach()
if(NOT OCTAVO_SYSROOT)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_CONFLICTS llama.cpp-tools)  # which has a /usr/bin/llama-server too
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/conffiles)

# The loader looks beside the program first, also for what its libraries need: DT_RPATH, not DT_RUNPATH.
# In the build folder as well: else CMake leaves room for it there, which the loader reads as the current folder.
set_target_properties(octavo PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/octavo" BUILD_WITH_INSTALL_RPATH ON)
target_link_options(octavo PRIVATE -Wl,--disable-new-dtags)
install(TARGETS octavo RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
# A folder brings all its libraries, so that it runs beside a C library that is older than the build's.
find_program(OCTAVO_PYTHON3 python3 REQUIRED)
set(octavo_needed_libraries ${OCTAVO_PYTHON3} ${PROJECT_SOURCE_DIR}/tools/needed_libraries.py ${PROJECT_BINARY_DIR}/octavo
  --triplet ${CMAKE_LIBRARY_ARCHITECTURE} --root "${CMAKE_SYSROOT}/")
install(CODE "execute_process(COMMAND ${octavo_needed_libraries}
  --copy-to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/octavo\" COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT folder EXCLUDE_FROM_ALL)
install(TARGETS octavo RUNTIME DESTINATION lib/octavo COMPONENT folder EXCLUDE_FROM_ALL)
install(PROGRAMS packaging/octavo.sh DESTINATION bin RENAME octavo COMPONENT folder EXCLUDE_FROM_ALL)
# The program by the name of llama.cpp's server, for programs that start that one.
file(CREATE_LINK octavo ${PROJECT_BINARY_DIR}/llama-server SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/llama-server DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES ${PROJECT_BINARY_DIR}/llama-server DESTINATION bin COMPONENT folder EXCLUDE_FROM_ALL)
foreach(component program folder)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/octavo COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(DIRECTORY docs/server DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/octavo COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
# What is inside, or needed by it. Written when all else has been installed: it says the digest of the stripped program.
set(octavo_bill ${OCTAVO_PYTHON3} ${PROJECT_SOURCE_DIR}/tools/bill_of_materials.py --version ${PROJECT_VERSION}
  --architecture ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE} --triplet ${CMAKE_LIBRARY_ARCHITECTURE} --root "${CMAKE_SYSROOT}/")
if(OCTAVO_SYSROOT)
  list(APPEND octavo_bill --packages ${OCTAVO_SYSROOT}/octavo-owners.txt)
endif()
foreach(row program:deb:${CMAKE_INSTALL_BINDIR} folder:folder:lib/octavo)
  string(REPLACE ":" ";" row ${row})
  list(GET row 0 component)
  list(GET row 1 kind)
  list(GET row 2 place)
  install(CODE "execute_process(COMMAND ${octavo_bill} --kind ${kind}
    --program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${place}/octavo\"
    --to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATAROOTDIR}/doc/octavo/octavo.cdx.json\"
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(FILES packaging/octavo.service DESTINATION lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
install(FILES packaging/octavo@.service DESTINATION lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
foreach(node 0 1)
  install(FILES packaging/node_${node}.conf DESTINATION lib/systemd/system/octavo@${node}.service.d RENAME node.conf
    COMPONENT service EXCLUDE_FROM_ALL)
endforeach()
install(FILES packaging/octavo.conf DESTINATION /etc/octavo COMPONENT service EXCLUDE_FROM_ALL)
set(CPACK_OCTAVO_NEEDED_LIBRARIES ${octavo_needed_libraries})
include(CPack)
