// Rounds activations to bf16, in the form that products on matrix tiles read (act_tiles.h).
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

/// Floats rounded to bf16, to nearest and ties to even, in the upper halves of words. What is no number stays so, and
/// what would be rounded beyond the largest float is infinite.
OCTAVO_KERNEL_PART I32 rounded_to_bf16(F32 x) {
  const I32 bits = f32_as_i32(x);
  const I32 up = i32_add(bits, i32_add(i32_and(i32_shr<16>(bits), i32_set(1)), i32_set(0x7FFF)));
  // The magnitude of what is no number is above that of infinity; its upper half gets a bit, as the lower one goes.
  const I32 magnitude = i32_and(bits, i32_set(0x7FFFFFFF));
  const I32 is_none = i32_sar<31>(i32_sub(i32_set(0x7F800000), magnitude));
  return i32_choose(is_none, i32_or(bits, i32_set(0x00400000)), up);
}

/// 32 columns of a row: word i is column i, and column 16 + i above it.
OCTAVO_KERNEL_PART F32 bf16_pairs(const float* x) {
  const I32 first = rounded_to_bf16(f32_load(x)), second = rounded_to_bf16(f32_load(x + kBf16Pairs));
  return i32_as_f32(i32_and_or(second, i32_set((int32_t)0xFFFF0000), i32_shr<16>(first)));
}

void round_row(const float* x, int64_t n, const ActPlace& out) {
  uint8_t* to = out.tile;
  for (int64_t k = 0; k < n; k += kActBlock, to += (size_t)out.rows * sizeof(ActTile<1>)) {
    const F32 pairs = bf16_pairs(x + k);
    if (out.rows == 1) {
      f32_store((float*)to, pairs);
      continue;
    }
    float words[kBf16Pairs];
    f32_store(words, pairs);
    for (int i = 0; i < kBf16Pairs; ++i) __builtin_memcpy(to + 4 * (i * out.rows + out.row), &words[i], 4);
  }
}

void round_column(const float* x, int64_t stride, int count, const ActPlace& out) {
  F32 pairs[kBf16TileRows];
  for (int r = 0; r < kBf16TileRows; ++r) pairs[r] = bf16_pairs(x + (r < count ? r : 0) * stride);
  f32_transpose(pairs);
  for (int i = 0; i < kBf16Pairs; ++i) {
    auto* to = (float*)(out.tile + 4 * (i * out.rows + out.row));
    if (count == kBf16TileRows) {
      f32_store(to, pairs[i]);
    } else {
      f32_store_n(to, pairs[i], count);
    }
  }
}

}  // namespace
}  // namespace octavo
