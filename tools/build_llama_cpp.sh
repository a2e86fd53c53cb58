#!/usr/bin/env bash
# Builds llama.cpp's benchmark from the source package of llama-cpp-python, for the CPU at hand, to compare with.
#   tools/build_llama_cpp.sh FOLDER        makes FOLDER/bin/llama-bench; a few minutes on two cores
# Needs g++, cmake, ninja, and python3 with pip.
set -euo pipefail
[ $# = 1 ] || { printf 'usage: %s FOLDER\n' "$0" >&2; exit 2; }
version=0.3.36
mkdir -p "$1"
cd "$1"
if [ ! -d source ]; then
  python3 -m pip download -q --disable-pip-version-check --no-deps -d . "llama-cpp-python==$version"
  mkdir source.partial
  # -m: the archive's dates may lie in the future, and ninja would configure for ever.
  tar -xzmf "llama_cpp_python-$version.tar.gz" -C source.partial --strip-components=3 \
    "llama_cpp_python-$version/vendor/llama.cpp"
  mv source.partial source
fi
cmake -G Ninja -S source -B . -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF \
  -DLLAMA_BUILD_UI=OFF --log-level=WARNING
ninja llama-bench
printf '%s\n' "$PWD/bin/llama-bench"
