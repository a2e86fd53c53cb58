// Kernels compiled for the avxvnni level; src/kernels/CMakeLists.txt holds the flags.
#define OCTAVO_AVX_VNNI 1
#include "kernels/isa/simd_avx2.h"
//
#include "kernels/generic/all.inl"

extern "C" const octavo::KernelTable* octavo_kernels_avxvnni(bool portable) {
  return portable ? &octavo::kPortableTable : &octavo::kTable;
}
