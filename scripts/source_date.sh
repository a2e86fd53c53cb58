# shellcheck shell=bash
# Sourced by the scripts that make packages.

# set_source_date ROOT: exports SOURCE_DATE_EPOCH, the date of all that is in a package, so that packing once more gives the
# same bytes. It is the environment's; else that of the last commit; else what a source distribution has with it; else the
# first that a zip file can say.
set_source_date() {
  if [ -z "${SOURCE_DATE_EPOCH-}" ]; then
    if [ -e "$1/.git" ]; then
      SOURCE_DATE_EPOCH=$(git -C "$1" log -1 --format=%ct)
    else
      SOURCE_DATE_EPOCH=$(cat "$1/SOURCE_DATE_EPOCH" 2>/dev/null || echo 315532800)
    fi
  fi
  export SOURCE_DATE_EPOCH
}
