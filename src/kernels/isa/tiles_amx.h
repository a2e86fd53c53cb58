// Names over the instructions of matrix tiles (AMX-TILE, AMX-INT8, AMX-BF16). A thread configures tiles, uses them and
// releases them; tests/emulated_isa/amx says in plain C++ what each name does.
//
// They are not the compiler's intrinsics: GCC 12 tells itself of 8 of the 64 bytes that a configuration has, so that
// stores to the others vanish, and its loads of tiles have no memory clobber, so that a store to what is loaded may
// move behind them.
#pragma once

#include <stdint.h>

#include "kernels/isa/tile_config.h"

namespace octavo {
namespace {

#define OCTAVO_TILE_NAME __attribute__((always_inline)) inline

OCTAVO_TILE_NAME void tiles_configure(const TileConfig& config) {
  asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
}
OCTAVO_TILE_NAME void tiles_release() { asm volatile("tilerelease" ::: "memory"); }

template <int T>
OCTAVO_TILE_NAME void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(T));
}
/// Rows of tile T from p on, `stride` bytes apart.
template <int T>
OCTAVO_TILE_NAME void tile_load(const void* p, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(stride), "i"(T) : "memory");
}
template <int T>
OCTAVO_TILE_NAME void tile_store(void* p, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(stride), "i"(T) : "memory");
}

/// C[m][n] += the sum over k of A[m][k] B[k][n], four signed bytes k to a 32-bit element of A and B. The assembler's
/// order of the operands is B, A, C.
template <int C, int A, int B>
OCTAVO_TILE_NAME void tile_dot() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
}

/// Floats C[m][n], two bf16 to a 32-bit element of A and B, as the processor adds them up: sums of the even and of the
/// odd k by fused multiply-adds in ascending order, from 0 on, then C + (even + odd). Denormals are zeros everywhere.
template <int C, int A, int B>
OCTAVO_TILE_NAME void tile_dot_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
}

#undef OCTAVO_TILE_NAME

}  // namespace
}  // namespace octavo
