// Kernels compiled for the neon level; src/kernels/CMakeLists.txt holds the flags.
#include "kernels/isa/simd_neon.h"
//
#include "kernels/generic/all.inl"

extern "C" const octavo::KernelTable* octavo_kernels_neon(bool portable) {
  return portable ? &octavo::kPortableTable : &octavo::kTable;
}
