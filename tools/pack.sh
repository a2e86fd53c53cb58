#!/usr/bin/env bash
# Makes the packages of a build folder that has the program, with their bills of materials, as scripts/package says:
#   tools/pack.sh BUILD FOLDER          into FOLDER
# Their dates are SOURCE_DATE_EPOCH, where the environment has it: the same build gives the same bytes then.
set -euo pipefail
[ $# = 2 ] || { printf 'usage: %s BUILD FOLDER\n' "$0" >&2; exit 2; }
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022  # which folders' modes are from
cpack --config "$build/CPackConfig.cmake" -B "$work" >/dev/null
cd "$work"
packages=(octavo_*.deb)
archives=(octavo-*.tar.gz)
package=${packages[0]}
archive=${archives[0]}
bill=share/doc/octavo/octavo.cdx.json
dpkg-deb --fsys-tarfile "$package" | tar -xO "./usr/$bill" >"$package.cdx.json"
tar -xzOf "$archive" "${archive%.tar.gz}/$bill" >"$archive.cdx.json"
architecture=${archive##*-Linux-}
python3 "$tools/oci_image.py" "$archive" "octavo-${architecture%.tar.gz}.oci.tar"
mv octavo[-_]*.* "$out/"
