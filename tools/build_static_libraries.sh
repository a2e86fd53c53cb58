#!/usr/bin/env bash
# Builds the libraries that liboctavo.so of a wheel has inside, for those whose static form Debian does not have, or not
# as position-independent code: out of Debian 12's source packages, and Boost.JSON out of its installed headers.
#   tools/build_static_libraries.sh FOLDER
# Leaves FOLDER/lib/*.a and FOLDER/lib/pkgconfig. FOLDER/libraries.tsv has a line for each library that is part of
# liboctavo.so: its name, the package it is of, that package's version, and its architecture or `source`;
# FOLDER/licenses has their terms. Does nothing where FOLDER is already right. About two minutes on two cores.
# Needs what scripts/setup installs, and dpkg-dev, make and nasm.
set -euo pipefail
export LC_ALL=C
[ $# = 1 ] || { printf 'usage: %s FOLDER\n' "$0" >&2; exit 2; }
to=$(realpath -m "$1")
# shellcheck source=scripts/progress.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/progress.sh"
fail() { say "$*"; exit 1; }

source_version() { dpkg-query -W -f '${source:Version}' "$1"; }
package_version() { dpkg-query -W -f '${Version}' "$1"; }

# A library whose installed headers Octavo is compiled with is built from the very same version. The others are the
# newest ones of Debian 12.
sources=(
  "fmtlib=$(source_version libfmt-dev)"
  "spdlog=$(source_version libspdlog-dev)"
  "prometheus-cpp=$(source_version prometheus-cpp-dev)"
  "libedit=$(source_version libedit-dev)"
  "libjpeg-turbo=$(source_version libjpeg62-turbo-dev)"
  "libpng1.6=$(source_version libpng-dev)"
  "zeromq3=$(source_version libzmq3-dev)"
  "zlib=$(source_version zlib1g-dev)"
  curl ncurses
)
installed=("boost=$(package_version libboost-json1.81-dev)" "openssl=$(package_version libssl-dev)"
  "utf8proc=$(package_version libutf8proc-dev)" "xxhash=$(package_version libxxhash-dev)"
  "libwebp=$(package_version libwebp-dev)" "giflib=$(package_version libgif-dev)")
recipe=$(sha256sum "${BASH_SOURCE[0]}")
stamp="${recipe%% *} ${sources[*]} ${installed[*]}"
[ "$(cat "$to/stamp" 2>/dev/null)" != "$stamp" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
flags=(-O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fstack-protector-strong
  -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fcf-protection=full "-ffile-prefix-map=$work=.")
jobs=$(nproc)

# quietly WHAT COMMAND...: shows nothing unless the command fails, then its last lines.
quietly() {
  local what=$1
  shift
  "$@" >"$log" 2>&1 || { tail -n 15 "$log" >&2; fail "could not $what"; }
}

# An apt of our own that knows the source packages of the archives from which this machine's packages are.
fetch_sources() {
  local codename
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
  : >"$work/state/status"
  # shellcheck disable=SC2016 # apt's own words
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)|$(ORIGIN) $(CREATED_BY)' |
    sed -n "s/^\(deb-src [^ ]* ${codename}[^|]*\)|Debian Packages$/\1/p" | sort -u >"$work/sources.list"
  [ -s "$work/sources.list" ] || fail "apt knows no archive of Debian's $codename; run scripts/setup first"
  printf '%s\n' "Dir::State \"$work/state\";" "Dir::State::status \"$work/state/status\";" \
    "Dir::Cache \"$work/cache\";" "Dir::Etc::sourcelist \"$work/sources.list\";" \
    'Dir::Etc::sourceparts "/dev/null";' 'Debug::NoLocking "true";' 'APT::Sandbox::User "root";' >"$work/apt.conf"
  quietly "read the lists of source packages (apt-get update)" env APT_CONFIG="$work/apt.conf" apt-get update
  cd "$work"
  quietly "fetch source packages (apt-get source)" env APT_CONFIG="$work/apt.conf" \
    apt-get -q source --download-only "${sources[@]}"
  local description name options
  for description in *.dsc; do
    name=${description%%_*}
    options=()
    [ "$name" != libedit ] || options=(--skip-patches)  # with Debian's it needs a library for what it has itself
    quietly "unpack $name" dpkg-source --no-check "${options[@]}" -x "$description" "$name"
  done
}

version_of() { sed -n 's/^Version: //p' "$work/$1"_*.dsc | head -n 1; }

# compile NAME SOURCE... -- FLAG...: libNAME.a of C++ sources.
compile() {
  local name=$1 sources=() source
  shift
  while [ "$1" != -- ]; do sources+=("$1"); shift; done
  shift
  say "building lib$name.a"
  mkdir -p "objects/$name"
  # shellcheck disable=SC2016 # the inner shell's words
  for source in "${sources[@]}"; do printf '%s\0' "$source"; done |
    xargs -0 -P "$jobs" -I{} sh -c 'source=$1; object=$2/$(basename "$source").o; shift 2
      exec g++ -std=c++17 -c "$source" -o "$object" "$@"' sh {} "objects/$name" "${flags[@]}" "$@" >"$log" 2>&1 ||
    { tail -n 15 "$log" >&2; fail "could not build lib$name.a"; }
  ar rcsD "made/lib/lib$name.a" "objects/$name"/*.o
}

build_curl() {
  say "building libcurl.a"
  quietly "configure curl" cmake -G Ninja -S curl -B objects/curl -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="${flags[*]}" -DBUILD_SHARED_LIBS=OFF -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF \
    -DENABLE_MANUAL=OFF -DHTTP_ONLY=ON \
    -DCURL_USE_OPENSSL=ON -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_DISABLE_LDAP=ON -DCURL_DISABLE_LDAPS=ON \
    -DCURL_DISABLE_NTLM=ON -DCURL_DISABLE_ALTSVC=ON -DCURL_DISABLE_HSTS=ON -DCURL_USE_LIBSSH2=OFF \
    -DCURL_USE_LIBPSL=OFF -DCURL_USE_GSSAPI=OFF -DCURL_ZLIB=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DUSE_NGHTTP2=OFF \
    -DUSE_LIBIDN2=OFF -DENABLE_ARES=OFF -DENABLE_THREADED_RESOLVER=ON -DENABLE_UNIX_SOCKETS=OFF
  quietly "build curl" ninja -C objects/curl -j "$jobs" libcurl
  cp objects/curl/lib/libcurl.a made/lib/
}

# With its own transports alone: Debian's static library wants Kerberos, multicast and encryption of others.
build_zeromq() {
  say "building libzmq.a"
  quietly "configure zeromq" cmake -G Ninja -S zeromq3 -B objects/zeromq -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_CXX_FLAGS="${flags[*]}" -DCMAKE_C_FLAGS="${flags[*]}" -DBUILD_SHARED=OFF -DBUILD_STATIC=ON \
    -DBUILD_TESTS=OFF -DZMQ_BUILD_TESTS=OFF -DWITH_PERF_TOOL=OFF -DWITH_DOCS=OFF -DENABLE_CURVE=OFF \
    -DWITH_LIBSODIUM=OFF -DWITH_LIBBSD=OFF -DWITH_OPENPGM=OFF -DWITH_NORM=OFF -DENABLE_WS=OFF -DENABLE_DRAFTS=OFF
  quietly "build zeromq" ninja -C objects/zeromq -j "$jobs" libzmq-static
  cp objects/zeromq/lib/libzmq.a made/lib/
}

# The descriptions of terminals are looked for where distributions keep them; the usual ones are also inside.
build_terminal() {
  say "building libtinfo.a and libedit.a"
  mkdir -p objects/ncurses objects/libedit
  (
    cd objects/ncurses
    quietly "configure ncurses" env CFLAGS="${flags[*]}" ../../ncurses/configure --with-termlib --enable-widec \
      --without-shared --without-debug --without-cxx --without-cxx-binding --without-ada --without-progs \
      --without-tests --without-manpages --disable-db-install --without-gpm --disable-stripping \
      --with-default-terminfo-dir=/usr/share/terminfo \
      --with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/lib/terminfo:/usr/share/terminfo \
      --with-fallbacks=xterm-256color,xterm,screen-256color,screen,tmux-256color,linux,vt100
    quietly "build libtinfo" make -j "$jobs" -C include
    quietly "build libtinfo" make -j "$jobs" -C ncurses ../lib/libtinfow.a
    cp lib/libtinfow.a ../../made/lib/libtinfo.a
  )
  (
    cd objects/libedit
    quietly "configure libedit" env CFLAGS="${flags[*]} -I$PWD/../ncurses/include" LDFLAGS="-L$work/made/lib" \
      ../../libedit/configure --disable-shared --enable-static --disable-examples
    quietly "build libedit" make -j "$jobs" -C src
    cp src/.libs/libedit.a ../../made/lib/
  )
}

# The libraries of pictures. JPEG's is several times as fast with its parts in assembly, which nasm reads.
build_pictures() {
  say "building libz.a, libpng16.a and libjpeg.a"
  mkdir -p objects/zlib objects/png
  (
    cd objects/zlib
    quietly "build zlib" gcc -c -DHAVE_UNISTD_H "${flags[@]}" ../../zlib/{adler32,compress,crc32,deflate,inffast,inflate,inftrees,trees,uncompr,zutil}.c
    ar rcsD ../../made/lib/libz.a ./*.o
  )
  (
    cd objects/png
    quietly "configure libpng" env CFLAGS="${flags[*]}" ../../libpng1.6/configure --disable-shared --enable-static \
      --enable-hardware-optimizations=yes --disable-tools
    quietly "build libpng" make -j "$jobs" libpng16.la
    cp .libs/libpng16.a ../../made/lib/
  )
  quietly "configure libjpeg-turbo" cmake -G Ninja -S libjpeg-turbo -B objects/jpeg -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="${flags[*]}" -DENABLE_SHARED=OFF -DREQUIRE_SIMD=ON -DWITH_TURBOJPEG=OFF
  quietly "build libjpeg-turbo" ninja -C objects/jpeg -j "$jobs" jpeg-static
  cp objects/jpeg/libjpeg.a made/lib/
}

# describe NAME LIBRARIES: for pkg-config, which CMake asks for some of the libraries.
describe() {
  # shellcheck disable=SC2016 # pkg-config's words
  printf 'libdir=${pcfiledir}/..\nName: %s\nDescription: %s, static\nVersion: %s\nLibs: -L${libdir} %s\n' \
    "$1" "$1" "$(pkg-config --modversion "$1")" "$2" >"made/lib/pkgconfig/$1.pc"
  printf 'Cflags: %s\n' "$(pkg-config --cflags "$1")" >>"made/lib/pkgconfig/$1.pc"
}

# list_source NAME PACKAGE and list_installed NAME PACKAGE: a library that is inside, with its terms.
list_source() {
  printf '%s\t%s\t%s\tsource\n' "$1" "$2" "$(version_of "$2")" >>made/libraries.tsv
  cp "$2/debian/copyright" "made/licenses/$1.txt"
}
list_installed() {
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$(package_version "$2")" "$(dpkg --print-architecture)" >>made/libraries.tsv
  case $1 in
    boost-*)  # its package lists the terms of every file of Boost
      awk -v RS= '/^License: BSL-1.0\n Boost/' "/usr/share/doc/$2/copyright" >"made/licenses/$1.txt" ;;
    *) cp "/usr/share/doc/$2/copyright" "made/licenses/$1.txt" ;;
  esac
  [ -s "made/licenses/$1.txt" ] || fail "found no terms of $1 in its package $2"
}

list_all() {
  mkdir -p made/licenses
  list_installed boost-asio libboost1.81-dev
  list_installed boost-json libboost-json1.81-dev
  list_installed cli11 libcli11-dev
  list_source curl curl
  list_source fmt fmtlib
  list_installed giflib libgif-dev
  list_source libedit libedit
  list_source libjpeg-turbo libjpeg-turbo
  list_source libpng libpng1.6
  list_installed "libstdc++" "$(dpkg-query -S "$(realpath "$(g++ -print-file-name=libstdc++.a)")" | cut -d: -f1)"
  list_installed libwebp libwebp-dev
  list_source ncurses ncurses
  list_installed openssl libssl-dev
  list_source prometheus-cpp prometheus-cpp
  list_source spdlog spdlog
  list_installed utf8proc libutf8proc-dev
  list_installed xxhash libxxhash-dev
  list_source zeromq zeromq3
  list_source zlib zlib
}

{ command -v dpkg-source && command -v make && command -v nasm; } >/dev/null ||
  fail "this needs dpkg-dev, make and nasm, of Debian's packages"
say "fetching source packages of libraries"
fetch_sources
mkdir -p made/lib/pkgconfig
compile fmt fmtlib/src/format.cc fmtlib/src/os.cc -- -Ifmtlib/include
compile spdlog spdlog/src/*.cpp -- -Ispdlog/include -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL
compile prometheus-cpp-core prometheus-cpp/core/src/*.cc prometheus-cpp/core/src/detail/*.cc -- \
  -Iprometheus-cpp/core/include -Iprometheus-cpp/util/include
printf '#include <boost/json/src.hpp>\n' >boost_json.cc
compile boost_json boost_json.cc -- -DBOOST_JSON_SOURCE
build_curl
build_zeromq
build_terminal
build_pictures
for library in utf8proc ssl crypto webp gif; do cp "$(gcc -print-file-name=lib$library.a)" made/lib/; done
describe libutf8proc -lutf8proc
describe prometheus-cpp-core -lprometheus-cpp-core
describe libedit "-ledit -ltinfo"
describe libjpeg -ljpeg
describe libpng "-lpng16 -lz"
describe libwebp -lwebp
describe libgif -lgif
describe libzmq -lzmq
list_all
printf '%s\n' "$stamp" >made/stamp
mkdir -p "$(dirname "$to")"
rm -rf "$to.partial" "$to"
cp -r made "$to.partial"
mv "$to.partial" "$to"
