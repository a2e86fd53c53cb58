# Read by CPack for each generator: what goes into which package.
if(NOT "${CPACK_OCTAVO_ISA_LEVELS}" STREQUAL "${CPACK_OCTAVO_ALL_ISA_LEVELS}")
  message(FATAL_ERROR "A package is for any processor, but this build has only ${CPACK_OCTAVO_ISA_LEVELS}: "
    "configure it with -DOCTAVO_ISA_LEVELS=all")
endif()
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL program service)
  if(CPACK_OCTAVO_SYSROOT)  # dpkg knows the libraries of this machine alone
    execute_process(COMMAND ${CPACK_OCTAVO_NEEDED_LIBRARIES} --owners ${CPACK_OCTAVO_SYSROOT}/octavo-owners.txt
      OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_DEPENDS OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endif()
else()
  set(CPACK_COMPONENTS_ALL folder)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
