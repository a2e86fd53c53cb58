// Activations to int8: blocks of 32 with one float scale, each block on its own.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

void quantize_row(const float* x, int64_t n, const QuantizedRow& out) {
  int8_t* q = out.q;
  for (int64_t b = 0; b < n / kActBlock; ++b, x += kActBlock, q += kActBlock) {
    F32 largest = f32_zero();
    for (int i = 0; i < kActBlock; i += kLanes) largest = f32_max(largest, f32_abs(f32_load(x + i)));
    const float top = f32_max_of(largest);
    const float d = top / 127.0F;
    const float inverse = top > 1e-30F ? 127.0F / top : 0.0F;  // less would overflow; it is nothing
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
    out.scale[b] = d;
    out.sum16[2 * b] = d * (float)sums[0];
    out.sum16[2 * b + 1] = d * (float)sums[1];
    out.sum32[b] = d * (float)(sums[0] + sums[1]);
    out.bias[b] = -kWideBias * (sums[0] + sums[1]);
  }
}

}  // namespace
}  // namespace octavo
