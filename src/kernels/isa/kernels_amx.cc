// The amx level: products on matrix tiles; all else of its table is the avx512vnni level's. src/kernels/CMakeLists.txt
// holds the flags.
#include "kernels/isa/simd_avx512.h"
#include "kernels/isa/tables.h"
#include "kernels/isa/tiles_amx.h"
//
#include "kernels/generic/matmul_amx.inl"

extern "C" const octavo::KernelTable* octavo_kernels_amx() {
  static const octavo::KernelTable table = octavo::table_with_tiles(*octavo_kernels_avx512vnni());
  return &table;
}
