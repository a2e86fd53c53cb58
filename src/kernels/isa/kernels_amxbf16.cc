// The amxbf16 level: products in bf16 on matrix tiles; all else of its table is the amx level's.
// src/kernels/CMakeLists.txt holds the flags.
#include "kernels/isa/simd_vbmi.h"
#include "kernels/isa/tables.h"
#include "kernels/isa/tiles_amx.h"
//
#include "kernels/generic/matmul_bf16.inl"

extern "C" const octavo::KernelTable* octavo_kernels_amxbf16() {
  static const octavo::KernelTable table = octavo::table_with_bf16(*octavo_kernels_amx());
  return &table;
}
