# shellcheck shell=bash
# Sourced by the scripts that make packages.

# write_checksums FOLDER: SHA256SUMS of all packages in it, for `sha256sum -c`.
write_checksums() {
  (cd "$1" && LC_ALL=C && sha256sum octavo[-_]* >SHA256SUMS)
}
