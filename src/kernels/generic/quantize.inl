// Activations to int8: blocks of 32 with one float scale, each block on its own.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

/// 32 values as row `row` of a tile of `rows`.
inline void quantize_block(const float* x, const ActSlot& out, uint8_t* block) {
  F32 largest = f32_zero();
  for (int i = 0; i < kActBlock; i += kLanes) largest = f32_max(largest, f32_abs(f32_load(x + i)));
  const float top = f32_max_of(largest);
  const float d = top / 127.0F;
  const float inverse = top > 1e-30F ? 127.0F / top : 0.0F;  // less would overflow; it is nothing
  int8_t* q = (int8_t*)block + out.row * kActBlock;
  int32_t sums[2];
  for (int part = 0; part < 2; ++part) {
    I32 total = i32_zero();
    for (int i = part * 16; i < part * 16 + 16; i += kLanes) {
      const I32 v = f32_round(f32_mul(f32_load(x + i), f32_set(inverse)));
      i32_store_i8(q + i, v);
      total = i32_add(total, v);
    }
    sums[part] = i32_sum(total);
  }
  const int rows = out.rows;
  float* floats = (float*)(block + rows * kActBlock) + out.row;  // ActTile's fields behind q
  int32_t* integers = (int32_t*)floats;
  floats[0] = d;
  floats[rows] = d * (float)(sums[0] + sums[1]);
  floats[2 * rows] = d * (float)sums[0];
  floats[3 * rows] = d * (float)sums[1];
  integers[4 * rows] = -(sums[0] + sums[1]);
  integers[5 * rows] = -sums[0];
  integers[6 * rows] = -sums[1];
}

void quantize_row(const float* x, int64_t n, const ActSlot& out) {
  const size_t block_bytes = (size_t)out.rows * sizeof(ActTile<1>);
  uint8_t* block = out.tile;
  for (int64_t i = 0; i < n; i += kActBlock, block += block_bytes) quantize_block(x + i, out, block);
}

static_assert(sizeof(ActTile<1>) == kActBlock + 7 * 4 && sizeof(ActTile<8>) == 8 * sizeof(ActTile<1>));

}  // namespace
}  // namespace octavo
