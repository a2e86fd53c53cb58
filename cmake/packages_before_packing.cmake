# Read by CPack once a package's files are in its folder, and before they are packed: adds the bill of materials
# (tools/bill_of_materials.py), and gives all files the date of the sources, SOURCE_DATE_EPOCH, where it is set, in place of
# that of the build.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(kind deb)
  set(root usr)
  set(program usr/bin/octavo)
else()
  set(kind folder)
  set(root .)
  set(program lib/octavo/octavo)
endif()
file(GLOB_RECURSE programs ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/octavo)
list(FILTER programs INCLUDE REGEX "/${program}$")
list(LENGTH programs num_programs)
if(NOT num_programs EQUAL 1)
  message(FATAL_ERROR "${CPACK_TEMPORARY_INSTALL_DIRECTORY}: found ${num_programs} programs ${program}, expected one")
endif()
string(REGEX REPLACE "/${program}$" "" folder "${programs}")
execute_process(COMMAND ${CPACK_OCTAVO_BILL_OF_MATERIALS} --kind ${kind} --program ${programs}
  --to ${folder}/${root}/share/doc/octavo/octavo.cdx.json COMMAND_ERROR_IS_FATAL ANY)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
    COMMAND_ERROR_IS_FATAL ANY)
endif()
