# Read by CPack once a package's files are in its folder, and before they are packed: gives them the date of the sources,
# SOURCE_DATE_EPOCH, where the environment has it, in place of that of the build.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY}
    -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} + COMMAND_ERROR_IS_FATAL ANY)
endif()
