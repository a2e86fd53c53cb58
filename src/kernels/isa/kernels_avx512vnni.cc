// Kernels compiled for the avx512vnni level; src/kernels/CMakeLists.txt holds the flags.
#include "kernels/isa/simd_avx512.h"
//
#include "kernels/generic/all.inl"

extern "C" const octavo::KernelTable* octavo_kernels_avx512vnni() { return &octavo::kTable; }
