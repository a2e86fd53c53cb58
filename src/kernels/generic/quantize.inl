// Quantizes activations to int8: blocks of 32 with one float scale, each block on its own.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

/// The order of blocks in a call.
enum class Blocks {
  kOfARow,     // columns of one row, in one tile after another
  kOfAColumn,  // the same columns of rows of one tile
};

/// The fields of ActTile beside the bytes of q, for four blocks at a time. Sums are computed as unsigned: with values
/// that are not finite, whose bytes mean nothing, they wrap.
struct FourFields {
  typedef float Floats __attribute__((vector_size(16)));
  typedef int32_t Ints __attribute__((vector_size(16)));
  typedef uint32_t Words __attribute__((vector_size(16)));
  Floats scale, sum32, sum16[2];
  Words minus_sum32, minus_sum16[2], sum_pair;
};

/// Quantizes `Count` blocks of 32 values, at most four, so that lanes are added up for four at once: block i is at x +
/// i * x_step.
template <Blocks B, int Count>
__attribute__((always_inline)) inline void quantize_blocks(const float* x, int64_t x_step, const ActPlace& out) {
  const int rows = out.rows, row_step = B == Blocks::kOfAColumn ? 1 : 0;
  const size_t tile_bytes = B == Blocks::kOfARow ? (size_t)rows * sizeof(ActTile<1>) : 0;
  F32 largest[4];
  for (int i = 0; i < 4; ++i) {
    largest[i] = f32_set(1e-30F);  // the inverse of a smaller one would overflow
    for (int k = 0; i < Count && k < kActBlock; k += kLanes)
      largest[i] = f32_max(largest[i], f32_abs(f32_load(x + i * x_step + k)));
  }
  float top[4], inverse[4];
  f32_max_of_each(largest, top);
  FourFields fields;
  FourFields::Floats tops;
  __builtin_memcpy(&tops, top, sizeof(top));
  fields.scale = tops / 127.0F;
  const FourFields::Floats inverses = 127.0F / tops;
  __builtin_memcpy(inverse, &inverses, sizeof(inverse));
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
  FourFields::Words sum[2];
  for (int half = 0; half < 2; ++half) {
    int32_t sums[4];
    i32_sum_of_each(totals[half], sums);
    __builtin_memcpy(&sum[half], sums, sizeof(sums));
    fields.sum16[half] = fields.scale * __builtin_convertvector((FourFields::Ints)sum[half], FourFields::Floats);
    fields.minus_sum16[half] = -sum[half];
  }
  const FourFields::Words all = sum[0] + sum[1];
  fields.sum32 = fields.scale * __builtin_convertvector((FourFields::Ints)all, FourFields::Floats);
  fields.minus_sum32 = -all;
  fields.sum_pair = all * (8U * 65536 - 8) + 32768;
  const auto* from = (const uint8_t*)&fields;
  uint8_t* to = out.tile + rows * kActBlock + (size_t)out.row * 4;
  for (int f = 0; f < 8; ++f, from += 16, to += (size_t)rows * 4) {
    if constexpr (B == Blocks::kOfAColumn) __builtin_memcpy(to, from, Count * 4);
    for (int i = 0; B == Blocks::kOfARow && i < Count; ++i)
      __builtin_memcpy(to + (size_t)i * tile_bytes, from + (size_t)i * 4, 4);
  }
}

template <Blocks B>
inline void quantize_rest(const float* x, int64_t x_step, const ActPlace& out, int count) {
  if (count == 1) quantize_blocks<B, 1>(x, x_step, out);
  if (count == 2) quantize_blocks<B, 2>(x, x_step, out);
  if (count == 3) quantize_blocks<B, 3>(x, x_step, out);
}

void quantize_row(const float* x, int64_t n, const ActPlace& out) {
  ActPlace at = out;
  int64_t left = n / kActBlock;
  for (; left >= 4; left -= 4, x += 4 * kActBlock, at.tile += 4 * (size_t)out.rows * sizeof(ActTile<1>))
    quantize_blocks<Blocks::kOfARow, 4>(x, kActBlock, at);
  quantize_rest<Blocks::kOfARow>(x, kActBlock, at, (int)left);
}

void quantize_column(const float* x, int64_t stride, int count, const ActPlace& out) {
  ActPlace at = out;
  for (; count >= 4; count -= 4, x += 4 * stride, at.row += 4) quantize_blocks<Blocks::kOfAColumn, 4>(x, stride, at);
  quantize_rest<Blocks::kOfAColumn>(x, stride, at, count);
}

static_assert(sizeof(ActTile<1>) == kActBlock + 8 * 4 && sizeof(ActTile<8>) == 8 * sizeof(ActTile<1>));

}  // namespace
}  // namespace octavo
