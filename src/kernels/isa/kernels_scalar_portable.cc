// The scalar level with multiply-adds that are rounded once: the bits that all levels have (docs/portable_bits.md).
#define OCTAVO_ROUND_ONCE 1
#include "kernels/isa/simd_scalar.h"
//
#include "kernels/generic/all.inl"

extern "C" const octavo::KernelTable* octavo_kernels_scalar_portable() { return &octavo::kPortableTable; }
