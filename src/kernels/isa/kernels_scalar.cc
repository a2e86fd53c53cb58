// Kernels compiled for the scalar level; src/kernels/CMakeLists.txt holds the flags.
#include "kernels/isa/simd_scalar.h"
//
#include "kernels/generic/all.inl"

extern "C" const octavo::KernelTable* octavo_kernels_scalar() { return &octavo::kTable; }
