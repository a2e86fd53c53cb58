#!/usr/bin/env bash
# Builds what Octavo is compared with from llama.cpp, out of the source package of llama-cpp-python.
#   tools/build_llama_cpp.sh [--isa native|avx2] FOLDER
# native (the default): for the CPU at hand, into FOLDER/bin. avx2: without AVX-512 and VNNI, into FOLDER/avx2/bin.
# Makes llama-bench, llama-batched-bench, llama-quantize and llama-logits (tools/llama_cpp_logits.cc), and leaves
# llama.cpp's vocabularies in FOLDER/source/models. About ten minutes on two cores each.
# Needs g++, cmake, ninja, and python3 with pip. Where the processor has AMX, clang++-19 compiles llama.cpp's kernels for it,
# if it is there. The file built_by beside the programs says which compiler it was.
set -euo pipefail
usage() { printf 'usage: %s [--isa native|avx2] FOLDER\n' "$0" >&2; exit 2; }
isa=native
if [ "${1-}" = --isa ]; then
  isa=${2-}
  shift 2 || usage
fi
[ $# = 1 ] || usage
case $isa in
  native) build=. flags=(-DGGML_NATIVE=ON) ;;
  avx2) build=avx2 flags=(-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON) ;;
  *) usage ;;
esac
version=0.3.36
tools=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
if [ ! -d source ]; then
  python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: -d . "llama-cpp-python==$version"
  mkdir source.partial
  # -m: the archive's dates may lie in the future, and ninja would configure for ever.
  tar -xzmf "llama_cpp_python-$version.tar.gz" -C source.partial --strip-components=3 \
    "llama_cpp_python-$version/vendor/llama.cpp"
  mv source.partial source
fi
compiler=g++
if [ "$isa" = native ] && grep -qw amx_int8 /proc/cpuinfo; then
  if command -v clang++-19 > /dev/null; then
    compiler=clang++-19
    flags+=(-DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19)
  else
    printf '%s: this processor has AMX, but clang++-19 is not here: g++ builds llama.cpp\n' "$0" >&2
  fi
fi
cmake -G Ninja -S source -B "$build" -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF \
  -DLLAMA_BUILD_UI=OFF --log-level=WARNING "${flags[@]}"
ninja -C "$build" llama-bench llama-batched-bench llama-quantize
printf 'llama.cpp was built by %s.\n' "$("$compiler" --version | head -n 1)" > "$build/bin/built_by"
cat "$build/bin/built_by" >&2
g++ -O2 -std=c++17 -I source/include -I source/ggml/include "$tools/llama_cpp_logits.cc" -o "$build/bin/llama-logits" \
  -L "$build/bin" -lllama -lggml -lggml-base "-Wl,-rpath,\$ORIGIN"
printf '%s\n' "$PWD/$build/bin"
