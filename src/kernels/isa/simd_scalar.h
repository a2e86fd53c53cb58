// The SIMD names that every kernel is written in, over plain C++: the meaning of each, and the level that runs
// anywhere. Four lanes, so that a compiler can use what vectors its target always has.
//
// Everything is in an anonymous namespace: units of different instruction sets must not share a function.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace octavo {
namespace {

/// What pieces of a product are declared with. Here by the compiler's judgement: inlined by name they take it twice as
/// long, ten minutes under sanitizers, for code that nobody waits for.
#define OCTAVO_KERNEL_PART inline
inline constexpr int kLanes = 4;     // 32-bit lanes of a vector; a U8 holds four bytes a lane
inline constexpr int kTileRows = 4;  // rows of activations that the matrix kernels keep in registers
inline constexpr int kWideBias = 0;  // what dot_wide adds to a weight: see there

struct F32 {
  float v[kLanes];
};
struct I32 {
  int32_t v[kLanes];
};
struct U8 {
  uint8_t v[kLanes * 4];
};
struct Mask {
  bool v[kLanes];
};

template <class Out, class F>
inline Out each(F f) {
  Out r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = f(i);
  return r;
}
template <class F>
inline U8 each_byte(F f) {
  U8 r;
  for (int i = 0; i < kLanes * 4; ++i) r.v[i] = (uint8_t)f(i);
  return r;
}

inline F32 f32_set(float x) {
  return each<F32>([=](int) { return x; });
}
inline F32 f32_zero() { return f32_set(0.0F); }
inline F32 f32_load(const float* p) {
  return each<F32>([=](int i) { return p[i]; });
}
inline void f32_store(float* p, F32 a) {
  for (int i = 0; i < kLanes; ++i) p[i] = a.v[i];
}
/// The first n lanes; the others are 0, and their memory is not touched.
inline F32 f32_load_n(const float* p, int n) {
  return each<F32>([=](int i) { return i < n ? p[i] : 0.0F; });
}
inline void f32_store_n(float* p, F32 a, int n) {
  for (int i = 0; i < n; ++i) p[i] = a.v[i];
}
inline F32 f32_add(F32 a, F32 b) {
  return each<F32>([&](int i) { return a.v[i] + b.v[i]; });
}
inline F32 f32_sub(F32 a, F32 b) {
  return each<F32>([&](int i) { return a.v[i] - b.v[i]; });
}
inline F32 f32_mul(F32 a, F32 b) {
  return each<F32>([&](int i) { return a.v[i] * b.v[i]; });
}
inline F32 f32_div(F32 a, F32 b) {
  return each<F32>([&](int i) { return a.v[i] / b.v[i]; });
}
/// a * b + c; rounded once where the level has fused multiply-add, twice here.
inline F32 f32_fma(F32 a, F32 b, F32 c) {
  return each<F32>([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
}
/// acc + a * b, as f32_fma; for loops whose sums fill the registers.
inline F32 f32_add_product(F32 acc, F32 a, F32 b) { return f32_fma(a, b, acc); }
inline F32 f32_max(F32 a, F32 b) {
  return each<F32>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32 f32_min(F32 a, F32 b) {
  return each<F32>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32 f32_abs(F32 a) {
  return each<F32>([&](int i) { return __builtin_fabsf(a.v[i]); });
}
inline float f32_sum(F32 a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
/// The largest lane of each of four vectors.
inline void f32_max_of_each(const F32 (&v)[4], float (&out)[4]) {
  for (int i = 0; i < 4; ++i) {
    out[i] = v[i].v[0];
    for (int lane = 1; lane < kLanes; ++lane) out[i] = v[i].v[lane] > out[i] ? v[i].v[lane] : out[i];
  }
}
inline float f32_max_of(F32 a) {
  float m = a.v[0];
  for (int i = 1; i < kLanes; ++i) m = a.v[i] > m ? a.v[i] : m;
  return m;
}
/// Lanes lo <= i < hi; either bound may lie outside the vector.
inline Mask lanes_between(int lo, int hi) {
  return each<Mask>([=](int i) { return lo <= i && i < hi; });
}
inline Mask f32_less(F32 a, F32 b) {
  return each<Mask>([&](int i) { return a.v[i] < b.v[i]; });
}
/// a where the mask holds, else b; what is not selected has no influence, NaN or not.
inline F32 f32_select(Mask m, F32 a, F32 b) {
  return each<F32>([&](int i) { return m.v[i] ? a.v[i] : b.v[i]; });
}

inline I32 i32_set(int32_t x) {
  return each<I32>([=](int) { return x; });
}
inline I32 i32_zero() { return i32_set(0); }
inline I32 i32_load_u8(const uint8_t* p) {
  return each<I32>([=](int i) { return (int32_t)p[i]; });
}
inline I32 i32_add(I32 a, I32 b) {
  return each<I32>([&](int i) { return (int32_t)((uint32_t)a.v[i] + (uint32_t)b.v[i]); });
}
inline I32 i32_sub(I32 a, I32 b) {
  return each<I32>([&](int i) { return (int32_t)((uint32_t)a.v[i] - (uint32_t)b.v[i]); });
}
inline I32 i32_and(I32 a, I32 b) {
  return each<I32>([&](int i) { return a.v[i] & b.v[i]; });
}
inline I32 i32_or(I32 a, I32 b) {
  return each<I32>([&](int i) { return a.v[i] | b.v[i]; });
}
template <int N>
inline I32 i32_shr(I32 a) {
  return each<I32>([&](int i) { return (int32_t)((uint32_t)a.v[i] >> N); });
}
template <int N>
inline I32 i32_shl(I32 a) {
  return each<I32>([&](int i) { return (int32_t)((uint32_t)a.v[i] << N); });
}
/// Shifted right with the sign.
template <int N>
inline I32 i32_sar(I32 a) {
  return each<I32>([&](int i) { return a.v[i] >> N; });
}
inline F32 i32_to_f32(I32 a) {
  return each<F32>([&](int i) { return (float)a.v[i]; });
}
/// Nearest integer, ties to even; the values are small. Of others and of NaN something, here as on x86.
inline I32 f32_round(F32 a) {
  return each<I32>([&](int i) {
    const float r = __builtin_rintf(a.v[i]);
    return r >= -0x1p31F && r < 0x1p31F ? (int32_t)r : INT32_MIN;
  });
}
inline I32 f32_as_i32(F32 a) {
  I32 r;
  __builtin_memcpy(&r, &a, sizeof(r));
  return r;
}
inline F32 i32_as_f32(I32 a) {
  F32 r;
  __builtin_memcpy(&r, &a, sizeof(r));
  return r;
}
inline void i32_store_i8(int8_t* p, I32 a) {
  for (int i = 0; i < kLanes; ++i) p[i] = (int8_t)a.v[i];
}
inline void i32_store_i16(int16_t* p, I32 a) {
  for (int i = 0; i < kLanes; ++i) p[i] = (int16_t)a.v[i];
}
inline int32_t i32_sum(I32 a) {
  const uint32_t even = (uint32_t)a.v[0] + (uint32_t)a.v[2], odd = (uint32_t)a.v[1] + (uint32_t)a.v[3];
  return (int32_t)(even + odd);
}
/// The sum of the lanes of each of four vectors.
inline void i32_sum_of_each(const I32 (&v)[4], int32_t (&out)[4]) {
  for (int i = 0; i < 4; ++i) out[i] = i32_sum(v[i]);
}

inline float widen_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (uint32_t)h >> 10 & 31, fraction = h & 1023U;
  uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
  if (exponent == 31) bits = sign | 0x7F800000 | fraction << 13;
  float value;
  __builtin_memcpy(&value, &bits, 4);
  if (exponent != 0) return value;
  const float tiny = (float)fraction * 0x1p-24F;
  return sign != 0 ? -tiny : tiny;
}
inline uint16_t narrow_f16(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
  if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7C00);
  if (magnitude < 0x38800000)
    return (uint16_t)(sign | (uint32_t)(int32_t)__builtin_rintf(__builtin_fabsf(x) * 0x1p24F));
  const uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return (uint16_t)(sign | ((rounded >> 13) - (112U << 10)));
}
inline float widen_bf16(uint16_t b) {
  const uint32_t bits = (uint32_t)b << 16;
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
inline F32 f32_load_f16_n(const uint16_t* p, int n) {
  return each<F32>([=](int i) { return i < n ? widen_f16(p[i]) : 0.0F; });
}
inline F32 f32_load_bf16_n(const uint16_t* p, int n) {
  return each<F32>([=](int i) { return i < n ? widen_bf16(p[i]) : 0.0F; });
}
inline F32 f32_load_f16(const uint16_t* p) { return f32_load_f16_n(p, kLanes); }
inline F32 f32_load_bf16(const uint16_t* p) { return f32_load_bf16_n(p, kLanes); }
inline F32 f32_load_i8(const int8_t* p) {
  return each<F32>([=](int i) { return (float)p[i]; });
}
inline void f32_store_f16_n(uint16_t* p, F32 a, int n) {
  for (int i = 0; i < n; ++i) p[i] = narrow_f16(a.v[i]);
}

inline U8 u8_load(const uint8_t* p) {
  return each_byte([=](int i) { return p[i]; });
}
inline U8 u8_mask(U8 a, int byte) {
  return each_byte([&](int i) { return a.v[i] & byte; });
}
inline U8 u8_or(U8 a, U8 b) {
  return each_byte([&](int i) { return a.v[i] | b.v[i]; });
}
/// Bytes shifted right or left and masked; the mask must drop the bits that came from a neighbour.
template <int N>
inline U8 u8_shr(U8 a, int byte) {
  return each_byte([&](int i) { return a.v[i] >> N & byte; });
}
template <int N>
inline U8 u8_shl(U8 a, int byte) {
  return each_byte([&](int i) { return a.v[i] << N & byte; });
}
/// table[index], index 0 .. 15.
inline U8 u8_lookup(const uint8_t* table, U8 index) {
  return each_byte([&](int i) { return table[index.v[i]]; });
}
/// The first base-3 digit (0, 1, 2) of a TQ1_0 byte, times 2^kTritShift; u8_triple leaves the others.
inline constexpr int kTritShift = 0;
inline U8 u8_trit(U8 x) {
  return each_byte([&](int i) { return 3 * x.v[i] >> 8; });
}
inline U8 u8_triple(U8 x) {
  return each_byte([&](int i) { return 3 * x.v[i]; });
}
/// The same four bytes in every lane.
inline U8 u8_broadcast4(const int8_t* p) {
  return each_byte([=](int i) { return p[i % 4]; });
}
/// a + b, which wraps as the instructions of other levels do.
inline int32_t wrapping_sum(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
/// acc + the four products of each lane; w unsigned up to 127, a signed. Wraps: where activations are not finite, acc
/// may begin anywhere.
inline I32 dot_small(I32 acc, U8 w, U8 a) {
  for (int i = 0; i < kLanes * 4; ++i) acc.v[i / 4] = wrapping_sum(acc.v[i / 4], (int32_t)w.v[i] * (int8_t)a.v[i]);
  return acc;
}
/// Whether add_products takes any byte as w, not only those up to 127, and small_sum_run is as long for them.
inline constexpr bool kAnyByte = true;
/// acc + the four products of each lane for any byte w = weight + 128. Where kWideBias is 128 the products are those
/// of w itself, and the caller takes 128 times the sum of a away; where it is 0, those of the weight.
inline I32 dot_wide(I32 acc, U8 w, U8 a) {
  for (int i = 0; i < kLanes * 4; ++i)
    acc.v[i / 4] = wrapping_sum(acc.v[i / 4], ((int32_t)w.v[i] - 128) * (int8_t)a.v[i]);
  return acc;
}

/// Two int16 a lane: what dot_pairs multiplies.
struct I16 {
  int16_t v[kLanes * 2];
};
inline I16 i16_load(const int16_t* p) {
  I16 r;
  __builtin_memcpy(r.v, p, sizeof r.v);
  return r;
}
/// 2 * kLanes bytes, each widened.
inline I16 i16_widen(const int8_t* p) {
  I16 r;
  for (int i = 0; i < kLanes * 2; ++i) r.v[i] = p[i];  // NOLINT(bugprone-signed-char-misuse): numbers, not characters
  return r;
}
/// The pair at p in every lane.
inline I16 i16_broadcast2(const int16_t* p) {
  I16 r;
  for (int i = 0; i < kLanes * 2; ++i) r.v[i] = p[i % 2];
  return r;
}
/// Each lane as two int16, the sign of the lower one turned round.
inline I16 i16_pair_of(I32 a) {
  I16 r;
  for (int i = 0; i < kLanes; ++i) {
    r.v[2 * i] = (int16_t)((a.v[i] & 0xFFFF) - 0x8000);
    r.v[2 * i + 1] = (int16_t)(a.v[i] >> 16);
  }
  return r;
}
/// acc + the two products of each lane. Wraps, as the instructions of other levels do: a lane behind a row's last token
/// multiplies what memory holds there, before it is masked.
inline I32 dot_pairs(I32 acc, I16 a, I16 b) {
  for (int i = 0; i < kLanes * 2; ++i) acc.v[i / 2] = wrapping_sum(acc.v[i / 2], (int32_t)a.v[i] * b.v[i]);
  return acc;
}
/// Says that a sum is in a register once the loop that made it is left. Without it GCC 12 moves all of them from
/// register to register in each round of that loop, for the sake of what comes after it.
inline void keep_in_register(I32&) {}
inline void keep_in_register(F32&) {}

/// Asks for a line of memory: into the caches, or into the second-level cache only.
inline void prefetch(const void*) {}
inline void prefetch_far(const void*) {}

}  // namespace
}  // namespace octavo

#include "kernels/isa/small_sum_int32.h"
