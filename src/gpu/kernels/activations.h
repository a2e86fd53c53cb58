// Quantizing rows of floats to int8 (act_pair.h), with the bits of quantize_row() of the CPU's kernels.
//
// The CPU's levels differ in the bytes that they make of a row with a number that is not finite. Here such a number
// always shows: the scale of its block is not finite either.
#pragma once

#include "gpu/kernels/act_pair.h"
#include "gpu/simt.h"

namespace octavo::gpu {

/// The larger of two numbers; NaN where either is NaN, so that it shows.
OCTAVO_GPU_DEVICE float larger(float a, float b) { return a > b || a != a ? a : b; }

/// Quantizes a block of 32 columns by eight lanes, with four values each: columns 4 (lane % 8) and the next three, in
/// block `block` of row `row` of `x`. All lanes of a warp call this; where `on` is false, there is no such block and
/// nothing is written.
OCTAVO_GPU_DEVICE void quantize_four(const float (&v)[4], ActPair* x, int64_t cols, int row, int block, bool on) {
  float top = 1e-30F;  // the inverse of less would overflow
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < 4; ++i) top = larger(simt::as_float(simt::as_int(v[i]) & INT32_MAX), top);
  OCTAVO_GPU_UNROLL
  for (int mask = 4; mask > 0; mask /= 2) top = larger(simt::shuffle_xor(top, mask), top);
  const float scale = simt::div(top, 127.0F), inverse = simt::div(127.0F, top);
  uint32_t word = 0, sum = 0;  // sums of numbers that are not finite wrap around
  OCTAVO_GPU_UNROLL
  for (int i = 0; i < 4; ++i) {
    const uint32_t q = (uint32_t)simt::to_int(simt::mul(v[i], inverse));
    word |= (q & 255) << 8 * i;
    sum += q;
  }
  OCTAVO_GPU_UNROLL
  for (int mask = 2; mask > 0; mask /= 2) sum += (uint32_t)simt::shuffle_xor((int)sum, mask);
  const uint32_t all = sum + (uint32_t)simt::shuffle_xor((int)sum, 4);
  if (!on) return;
  const int lane = simt::lane() % 8, r = row % kRowsOfTile;
  ActPair& pair = x[(size_t)(row / kRowsOfTile) * (size_t)act_pairs(cols) + (size_t)(block / 2)];
  *(uint32_t*)pair.q[r][lane % 4][block % 2][lane / 4] = word;
  if (lane != 0) return;
  pair.terms[block % 2][r / 2][r % 2] = scale;
  pair.terms[block % 2][r / 2][2 + r % 2] = simt::mul(scale, simt::to_float((int)all));
  pair.sums[block % 2][r / 2][r % 2] = (int32_t)all;
  pair.first_sums[block % 2][r / 2][r % 2] = (int32_t)sum;
}

}  // namespace octavo::gpu

/// Quantizes rows; each thread takes four columns.
OCTAVO_GPU_KERNEL(octavo::gpu::kQuantizeThreads, 1) octavo_quantize_rows(octavo::gpu::QuantizeRows a) {
  using namespace octavo;
  const int first = simt::block_x() * gpu::kQuantizeCols + 4 * simt::thread(), row = simt::block_y();
  const bool on = first < a.cols;
  float v[4] = {0, 0, 0, 0};
  if (on) {
    const simt::Floats4 loaded = simt::load16f(a.x + (size_t)row * (size_t)a.stride + first);
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = loaded.v[i];
  }
  gpu::quantize_four(v, a.out, a.cols, row, first / kActBlock, on);
}
