// Kernels compiled for the avx2 level; src/kernels/CMakeLists.txt holds the flags.
#include "kernels/isa/simd_avx2.h"
//
#include "kernels/generic/all.inl"

extern "C" const octavo::KernelTable* octavo_kernels_avx2(bool portable) {
  return portable ? &octavo::kPortableTable : &octavo::kTable;
}
