// Products of blocks of 256 whose sub-blocks have integer scales, where sums of byte products have 16 bits (AVX2).
//
// The instruction that widens such a sum to 32 bits multiplies it by any 16-bit number, so a sub-block's scale costs
// nothing: it stands where a 1 would. What is left for floats is one conversion and one multiply-add for the scale of
// the activations, and the block's d once for 256 weights. A zero point would be one more product of integers; as a
// minimum it is one multiply-add.
#pragma once

#include "kernels/act_tiles.h"
#include "kernels/generic/block_scales.inl"

namespace octavo {
namespace {

/// The sums of one row where blocks have word scales.
struct WordSums {
  F32 scaled;  // products times integer scales and the scale of the activations, still without the block's d
  F32 rest;    // the sums of the blocks before it, and its own minimums
};

/// dot[v][r] += quads First .. First + Count of 32 weights of vector v times row `row` + r of x, times `scale[v]`.
template <DType T, int First, int Count, int V, int N, int R, class Quads>
OCTAVO_KERNEL_PART void add_scaled_quads(const Quads& weights, const I16 (&scale)[V], const ActTile<R>& x, int row,
                                         I32 (&dot)[V][N]) {
  SmallSum sum[V][N];
  for (int v = 0; v < V; ++v)
    for (int r = 0; r < N; ++r) sum[v][r] = small_sum_of(dot[v][r]);
  for_constants<Count>([&]<int J>() __attribute__((always_inline)) {
    U8 w[V];
    for (int v = 0; v < V; ++v) w[v] = weights.template quad<First + J>(v);
    for (int r = 0; r < N; ++r) {
      const U8 a = u8_broadcast4(&x.q[row + r][(First + J) * kQuad]);
      for (int v = 0; v < V; ++v) sum[v][r] = keep_chain<V * N>(add_products(sum[v][r], w[v], a));
    }
  });
  for (int v = 0; v < V; ++v)
    for (int r = 0; r < N; ++r) dot[v][r] = add_scaled(dot[v][r], sum[v][r], scale[v]);
}

/// Adds 32 weights of vector v of outputs times row `row` + r of x to sums[v][r], sub-block by sub-block: an integer
/// scale multiplies sums of 16 bits.
template <DType T, int V, int N, int R, class Quads>
OCTAVO_KERNEL_PART void add_word_block(const Quads& weights, const BlockScales<T> (&block)[V], int g,
                                       const ActTile<R>& x, int row, WordSums (&sums)[V][N]) {
  using W = Weights<T>;
  constexpr int kParts = 32 / W::kSubBlock, kQuads = 8 / kParts;
  constexpr int kQuadsAtOnce = small_sum_quads(W::kMaxByte) < kQuads ? small_sum_quads(W::kMaxByte) : kQuads;
  I32 dot[V][N];
  for (int v = 0; v < V; ++v)
    for (int r = 0; r < N; ++r) dot[v][r] = i32_zero();
  for_constants<8 / kQuadsAtOnce>([&]<int G>() __attribute__((always_inline)) {
    I16 scale[V];
    for (int v = 0; v < V; ++v) scale[v] = block[v].scale[g * kParts + G * kQuadsAtOnce / kQuads];
    add_scaled_quads<T, G * kQuadsAtOnce, kQuadsAtOnce, V, N, R>(weights, scale, x, row, dot);
  });
  for (int r = 0; r < N; ++r)
    for (int v = 0; v < V; ++v) {
      WordSums& s = sums[v][r];
      s.scaled = f32_fma(i32_to_f32(dot[v][r]), f32_set(x.scale[row + r]), s.scaled);
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part)
        s.rest = f32_fma(block[v].minimum[g * kParts + part],
                         f32_set(kParts == 1 ? x.sum32[row + r] : x.sum16[part][row + r]), s.rest);
    }
}

}  // namespace
}  // namespace octavo
