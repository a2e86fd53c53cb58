// Activations to int8: spans of 32 or 256 with one float scale, each span on its own.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

/// The largest magnitudes of `Count` blocks of 32 values, block i at x + i * x_step.
template <int Count>
__attribute__((always_inline)) inline void top_of_each(const float* x, int64_t x_step, float (&top)[4]) {
  F32 largest[4];
  for (int i = 0; i < 4; ++i) {
    largest[i] = f32_zero();
    for (int k = 0; i < Count && k < kActBlock; k += kLanes)
      largest[i] = f32_max(largest[i], f32_abs(f32_load(x + i * x_step + k)));
  }
  f32_max_of_each(largest, top);
}

/// `Count` blocks of 32 values, at most four, so that lanes are added up for four at once: block i is x + i * x_step,
/// of magnitudes up to top[i], row `row + i * row_step` of the tile i * tile_bytes behind out.tile. `Pairs`: sums for
/// minima in pairs are wanted too, and the blocks are four of one span.
template <int Count, bool Pairs>
__attribute__((always_inline)) inline void quantize_blocks(const float* x, int64_t x_step, const float (&top)[4],
                                                           const ActSlot& out, size_t tile_bytes, int row_step) {
  float d[4], inverse[4];
  for (int i = 0; i < 4; ++i) d[i] = top[i] / 127.0F;
  for (int i = 0; i < 4; ++i) inverse[i] = 127.0F / (top[i] > 1e-30F ? top[i] : 127e30F);  // less would overflow
  I32 totals[2][4];
  for (int i = 0; i < 4; ++i) {
    totals[0][i] = totals[1][i] = i32_zero();
    if (i >= Count) continue;
    int8_t* q = (int8_t*)out.tile + (size_t)i * tile_bytes + (out.row + i * row_step) * kActBlock;
    for (int k = 0; k < kActBlock; k += kLanes) {
      const I32 v = f32_round(f32_mul(f32_load(x + i * x_step + k), f32_set(inverse[i])));
      i32_store_i8(q + k, v);
      totals[k / 16][i] = i32_add(totals[k / 16][i], v);
    }
  }
  int32_t sums[3][4], minus[3][4];  // of all 32, and of each half
  i32_sum_of_each(totals[0], sums[1]);
  i32_sum_of_each(totals[1], sums[2]);
  for (int i = 0; i < 4; ++i) sums[0][i] = sums[1][i] + sums[2][i];
  float fields[2][4];  // ActTile's floats
  for (int i = 0; i < 4; ++i) fields[0][i] = d[i];
  for (int i = 0; i < 4; ++i) fields[1][i] = d[i] * (float)sums[0][i];
  for (int f = 0; f < 3; ++f)
    for (int i = 0; i < 4; ++i) minus[f][i] = -sums[f][i];
  const int rows = out.rows;
  float* floats = (float*)(out.tile + rows * kActBlock) + out.row;
  for (int f = 0; f < 2; ++f, floats += rows)
    for (int i = 0; i < Count; ++i)
      *(float*)((uint8_t*)(floats + i * row_step) + (size_t)i * tile_bytes) = fields[f][i];
  int32_t* integers = (int32_t*)floats;
  for (int f = 0; f < 3; ++f, integers += rows)
    for (int i = 0; i < Count; ++i)
      *(int32_t*)((uint8_t*)(integers + i * row_step) + (size_t)i * tile_bytes) = minus[f][i];
  if constexpr (Pairs) {
    int16_t* halves = (int16_t*)integers;
    for (int i = 0; i < Count; ++i, halves += tile_bytes / 2) {
      int16_t* blocks = halves + (ptrdiff_t)rows * 2;
      halves[0] = (int16_t)minus[1][i];
      halves[1] = (int16_t)minus[2][i];
      blocks[0] = i % 2 == 1 ? (int16_t)minus[0][i - 1] : (int16_t)0;
      blocks[1] = (int16_t)minus[0][i];
    }
  }
}

template <int Count>
inline void quantize_each(const float* x, int64_t x_step, const ActSlot& out, size_t tile_bytes, int row_step) {
  float top[4];
  top_of_each<Count>(x, x_step, top);
  quantize_blocks<Count, false>(x, x_step, top, out, tile_bytes, row_step);
}

inline void quantize_rest(const float* x, int64_t x_step, const ActSlot& out, size_t tile_bytes, int row_step,
                          int count) {
  if (count == 1) quantize_each<1>(x, x_step, out, tile_bytes, row_step);
  if (count == 2) quantize_each<2>(x, x_step, out, tile_bytes, row_step);
  if (count == 3) quantize_each<3>(x, x_step, out, tile_bytes, row_step);
}

/// One span of 256.
inline void quantize_span(const float* x, const ActSlot& out, size_t tile_bytes) {
  float tops[2][4], top[4] = {};
  top_of_each<4>(x, kActBlock, tops[0]);
  top_of_each<4>(x + 4 * kActBlock, kActBlock, tops[1]);
  for (int i = 0; i < 8; ++i) top[0] = top[0] > tops[i / 4][i % 4] ? top[0] : tops[i / 4][i % 4];
  for (int i = 1; i < 4; ++i) top[i] = top[0];
  ActSlot at = out;
  for (int half = 0; half < 2; ++half, x += 4 * kActBlock, at.tile += 4 * tile_bytes)
    quantize_blocks<4, true>(x, kActBlock, top, at, tile_bytes, 0);
}

void quantize_row(const float* x, int64_t n, int span, const ActSlot& out) {
  const size_t tile_bytes = (size_t)out.rows * sizeof(ActTile<1>);
  const int step = span == kActBlock ? 4 : span / kActBlock;
  ActSlot at = out;
  int64_t left = n / kActBlock;
  for (; left >= step; left -= step, x += step * kActBlock, at.tile += step * tile_bytes) {
    if (span == kActBlock)
      quantize_each<4>(x, kActBlock, at, tile_bytes, 0);
    else
      quantize_span(x, at, tile_bytes);
  }
  quantize_rest(x, kActBlock, at, tile_bytes, 0, (int)left);
}

void quantize_column(const float* x, int64_t stride, int count, const ActSlot& out) {
  ActSlot at = out;
  for (; count >= 4; count -= 4, x += 4 * stride, at.row += 4) quantize_each<4>(x, stride, at, 0, 1);
  quantize_rest(x, stride, at, 0, 1, count);
}

static_assert(sizeof(ActTile<1>) == kActBlock + 7 * 4 && sizeof(ActTile<8>) == 8 * sizeof(ActTile<1>));

}  // namespace
}  // namespace octavo
