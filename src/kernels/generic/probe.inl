// Loops that do only one thing, as fast as this level can: a machine's peak is measured with them (kernels/machine.h).
#pragma once

#include "kernels/generic/weights.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

// The number of sums in registers: enough to hide the latency of two units, and few enough to leave room for operands.
inline constexpr int kProbeChains = 12;

template <bool Prefetch>
inline uint64_t read_lines(const uint8_t* data, size_t bytes, size_t ahead) {
  constexpr int kVectors = 64 / (int)sizeof(U8);  // the vectors in a cache line
  U8 seen[kVectors];
  for (int v = 0; v < kVectors; ++v) seen[v] = u8_load(data + v * (int)sizeof(U8));
  for (size_t i = 0; i + 64 <= bytes; i += 64) {
    if constexpr (Prefetch) prefetch(data + i + ahead);
    for (int v = 0; v < kVectors; ++v) seen[v] = u8_or(seen[v], u8_load(data + i + v * (int)sizeof(U8)));
  }
  uint64_t result = 0;
  for (const U8& s : seen) {
    uint64_t words[sizeof(U8) / 8];
    __builtin_memcpy(words, &s, sizeof(U8));
    for (const uint64_t word : words) result |= word;
  }
  return result;
}

uint64_t probe_read(const uint8_t* data, size_t bytes, size_t ahead) {
  return ahead == 0 ? read_lines<false>(data, bytes, 0) : read_lines<true>(data, bytes, ahead);
}

// The chains begin with different values, or a compiler could compute one for all. It must not know the operand either:
// where a product and its sum are two instructions, it would multiply once and only additions would be timed.
int64_t probe_int8(int64_t rounds, const int8_t* operands, int32_t* result) {
  const U8 a = u8_broadcast4(operands);
  U8 b = u8_broadcast4(operands + 4);
  I32 sum[kProbeChains];
  for (int c = 0; c < kProbeChains; ++c) sum[c] = i32_set(operands[c]);
  for (int64_t r = 0; r < rounds; ++r)
    for_constants<kProbeChains>([&]<int C>() __attribute__((always_inline)) {
      sum[C] = dot_small(sum[C], a, b);
      make_unknown(b, sum[C]);
    });
  *result = 0;
  for (const I32& s : sum) *result ^= i32_sum(s);
  return rounds * kProbeChains * kLanes * 4;
}

int64_t probe_float(int64_t rounds, const int8_t* operands, float* result) {
  const F32 factor = f32_set((float)operands[0] / 128.0F), term = f32_set((float)operands[1]);
  F32 sum[kProbeChains];
  for (int c = 0; c < kProbeChains; ++c) sum[c] = f32_set((float)operands[c]);
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int c = 0; c < kProbeChains; ++c) sum[c] = f32_fma(sum[c], factor, term);
  *result = 0;
  for (const F32& s : sum) *result += f32_sum(s);
  return rounds * kProbeChains * kLanes;
}

}  // namespace
}  // namespace octavo
