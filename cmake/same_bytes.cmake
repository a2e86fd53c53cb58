# Compiled code does not hold the folders of the machine that built it: the same sources give the same bytes wherever they
# and the build lie. The compiler runs in the build folder, and ccache names sources relative to that (CCACHE_BASEDIR), so
# that form is mapped as well. Of several maps that fit, the compiler takes the last.
file(RELATIVE_PATH octavo_source_from_build ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
string(REGEX REPLACE "/$" "" octavo_source_from_build "${octavo_source_from_build}")
if(octavo_source_from_build)
  target_compile_options(octavo_flags INTERFACE -ffile-prefix-map=${octavo_source_from_build}=.)
endif()
target_compile_options(octavo_flags INTERFACE
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=./build)
