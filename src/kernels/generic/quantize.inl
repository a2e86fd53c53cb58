// Activations to int8: blocks of 32 with one float scale, each block on its own.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

/// `Count` blocks of 32 values, at most four, so that lanes are added up for four at once: block i is x + i * x_step,
/// row `row + i * row_step` of the tile i * tile_bytes behind out.tile.
template <int Count>
__attribute__((always_inline)) inline void quantize_blocks(const float* x, int64_t x_step, const ActSlot& out,
                                                           size_t tile_bytes, int row_step) {
  F32 largest[4];
  for (int i = 0; i < 4; ++i) {
    largest[i] = f32_zero();
    for (int k = 0; i < Count && k < kActBlock; k += kLanes)
      largest[i] = f32_max(largest[i], f32_abs(f32_load(x + i * x_step + k)));
  }
  float top[4], d[4], inverse[4];
  f32_max_of_each(largest, top);
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
  int32_t sums[3][4], integers[4][4];  // sums of all 32, and of each half; ActTile's integers
  i32_sum_of_each(totals[0], sums[1]);
  i32_sum_of_each(totals[1], sums[2]);
  for (int i = 0; i < 4; ++i) sums[0][i] = sums[1][i] + sums[2][i];
  float fields[4][4];  // ActTile's floats
  for (int i = 0; i < 4; ++i) fields[0][i] = d[i];
  for (int f = 0; f < 3; ++f)
    for (int i = 0; i < 4; ++i) fields[1 + f][i] = d[i] * (float)sums[f][i];
  for (int f = 0; f < 3; ++f)
    for (int i = 0; i < 4; ++i) integers[f][i] = -sums[f][i];
  for (int i = 0; i < 4; ++i) integers[3][i] = sums[0][i] * (8 * 65536 - 8) + 32768;
  const int rows = out.rows;
  float* floats = (float*)(out.tile + rows * kActBlock) + out.row;
  for (int f = 0; f < 4; ++f, floats += rows)
    for (int i = 0; i < Count; ++i)
      *(float*)((uint8_t*)(floats + i * row_step) + (size_t)i * tile_bytes) = fields[f][i];
  int32_t* words = (int32_t*)floats;
  for (int f = 0; f < 4; ++f, words += rows)
    for (int i = 0; i < Count; ++i)
      *(int32_t*)((uint8_t*)(words + i * row_step) + (size_t)i * tile_bytes) = integers[f][i];
}

inline void quantize_rest(const float* x, int64_t x_step, const ActSlot& out, size_t tile_bytes, int row_step,
                          int count) {
  if (count == 1) quantize_blocks<1>(x, x_step, out, tile_bytes, row_step);
  if (count == 2) quantize_blocks<2>(x, x_step, out, tile_bytes, row_step);
  if (count == 3) quantize_blocks<3>(x, x_step, out, tile_bytes, row_step);
}

void quantize_row(const float* x, int64_t n, const ActSlot& out) {
  const size_t block_bytes = (size_t)out.rows * sizeof(ActTile<1>);
  ActSlot at = out;
  int64_t left = n / kActBlock;
  for (; left >= 4; left -= 4, x += 4 * kActBlock, at.tile += 4 * block_bytes)
    quantize_blocks<4>(x, kActBlock, at, block_bytes, 0);
  quantize_rest(x, kActBlock, at, block_bytes, 0, (int)left);
}

void quantize_column(const float* x, int64_t stride, int count, const ActSlot& out) {
  ActSlot at = out;
  for (; count >= 4; count -= 4, x += 4 * stride, at.row += 4) quantize_blocks<4>(x, stride, at, 0, 1);
  quantize_rest(x, stride, at, 0, 1, count);
}

static_assert(sizeof(ActTile<1>) == kActBlock + 8 * 4 && sizeof(ActTile<8>) == 8 * sizeof(ActTile<1>));

}  // namespace
}  // namespace octavo
