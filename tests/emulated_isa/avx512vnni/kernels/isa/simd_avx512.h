// The names of src/kernels/isa/simd_avx512.h over pairs of AVX2 vectors, lanes 0 .. 7 and 8 .. 15. The level's unit
// finds this file first when it is compiled for processors without AVX-512. Kernels then have the level's shape (16
// lanes, tiles of eight rows, two panels) and its order of operations, and so its bits.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/isa/shape_avx512.h"
#include "tests/emulated_isa/dot_bytes.h"

namespace halves {
#include "kernels/isa/simd_avx2.h"
}  // namespace halves

namespace octavo {
namespace {

namespace half = ::halves::octavo;

struct F32 {
  __m256 lo, hi;
};
struct I32 {
  __m256i lo, hi;
};
using U8 = I32;
using I16 = I32;
using Mask = F32;

inline constexpr int kHalf = kLanes / 2;

inline int in_low(int n) { return n < kHalf ? n : kHalf; }
inline int in_high(int n) { return n < kHalf ? 0 : n - kHalf; }

inline F32 f32_zero() { return {half::f32_zero(), half::f32_zero()}; }
inline F32 f32_set(float x) { return {half::f32_set(x), half::f32_set(x)}; }
inline F32 f32_load(const float* p) { return {half::f32_load(p), half::f32_load(p + kHalf)}; }
inline void f32_store(float* p, F32 v) {
  half::f32_store(p, v.lo);
  half::f32_store(p + kHalf, v.hi);
}
inline F32 f32_load_n(const float* p, int n) {
  return {half::f32_load_n(p, in_low(n)), half::f32_load_n(p + kHalf, in_high(n))};
}
inline void f32_store_n(float* p, F32 v, int n) {
  half::f32_store_n(p, v.lo, in_low(n));
  half::f32_store_n(p + kHalf, v.hi, in_high(n));
}
inline F32 f32_add(F32 a, F32 b) { return {half::f32_add(a.lo, b.lo), half::f32_add(a.hi, b.hi)}; }
inline F32 f32_sub(F32 a, F32 b) { return {half::f32_sub(a.lo, b.lo), half::f32_sub(a.hi, b.hi)}; }
inline F32 f32_mul(F32 a, F32 b) { return {half::f32_mul(a.lo, b.lo), half::f32_mul(a.hi, b.hi)}; }
inline F32 f32_div(F32 a, F32 b) { return {half::f32_div(a.lo, b.lo), half::f32_div(a.hi, b.hi)}; }
inline F32 f32_fma(F32 a, F32 b, F32 c) { return {half::f32_fma(a.lo, b.lo, c.lo), half::f32_fma(a.hi, b.hi, c.hi)}; }
inline F32 f32_add_product(F32 acc, F32 a, F32 b) { return f32_fma(a, b, acc); }
inline F32 f32_max(F32 a, F32 b) { return {half::f32_max(a.lo, b.lo), half::f32_max(a.hi, b.hi)}; }
inline F32 f32_min(F32 a, F32 b) { return {half::f32_min(a.lo, b.lo), half::f32_min(a.hi, b.hi)}; }
inline F32 f32_abs(F32 a) { return {half::f32_abs(a.lo), half::f32_abs(a.hi)}; }
inline float f32_sum(F32 a) { return half::f32_sum(half::f32_add(a.lo, a.hi)); }
inline float f32_max_of(F32 a) { return half::f32_max_of(half::f32_max(a.lo, a.hi)); }
inline void f32_max_of_each(const F32 (&v)[4], float (&out)[4]) {
  for (int i = 0; i < 4; ++i) out[i] = f32_max_of(v[i]);
}
inline Mask lanes_between(int lo, int hi) {
  return {half::lanes_between(lo, hi), half::lanes_between(lo - kHalf, hi - kHalf)};
}
inline Mask f32_less(F32 a, F32 b) { return {half::f32_less(a.lo, b.lo), half::f32_less(a.hi, b.hi)}; }
inline F32 f32_select(Mask m, F32 a, F32 b) {
  return {half::f32_select(m.lo, a.lo, b.lo), half::f32_select(m.hi, a.hi, b.hi)};
}

inline F32 f32_load_f16(const uint16_t* p) { return {half::f32_load_f16(p), half::f32_load_f16(p + kHalf)}; }
inline F32 f32_load_f16_n(const uint16_t* p, int n) {
  return {half::f32_load_f16_n(p, in_low(n)), half::f32_load_f16_n(p + kHalf, in_high(n))};
}
inline F32 f32_load_bf16(const uint16_t* p) { return {half::f32_load_bf16(p), half::f32_load_bf16(p + kHalf)}; }
inline F32 f32_load_bf16_n(const uint16_t* p, int n) {
  return {half::f32_load_bf16_n(p, in_low(n)), half::f32_load_bf16_n(p + kHalf, in_high(n))};
}
inline void f32_store_f16_n(uint16_t* p, F32 v, int n) {
  half::f32_store_f16_n(p, v.lo, in_low(n));
  half::f32_store_f16_n(p + kHalf, v.hi, in_high(n));
}

inline I32 i32_zero() { return {half::i32_zero(), half::i32_zero()}; }
inline I32 i32_set(int32_t x) { return {half::i32_set(x), half::i32_set(x)}; }
inline I32 i32_load(const int32_t* p) {
  return {_mm256_loadu_si256((const __m256i*)p), _mm256_loadu_si256((const __m256i*)(p + kHalf))};
}
inline void i32_store(int32_t* p, I32 v) {
  _mm256_storeu_si256((__m256i*)p, v.lo);
  _mm256_storeu_si256((__m256i*)(p + kHalf), v.hi);
}
inline I32 i32_load_i8(const int8_t* p) { return {half::i32_load_i8(p), half::i32_load_i8(p + kHalf)}; }
inline I32 i32_load_u8(const uint8_t* p) { return {half::i32_load_u8(p), half::i32_load_u8(p + kHalf)}; }
inline I32 i32_add(I32 a, I32 b) { return {half::i32_add(a.lo, b.lo), half::i32_add(a.hi, b.hi)}; }
inline I32 i32_sub(I32 a, I32 b) { return {half::i32_sub(a.lo, b.lo), half::i32_sub(a.hi, b.hi)}; }
inline I32 i32_and(I32 a, I32 b) { return {half::i32_and(a.lo, b.lo), half::i32_and(a.hi, b.hi)}; }
inline I32 i32_or(I32 a, I32 b) { return {half::i32_or(a.lo, b.lo), half::i32_or(a.hi, b.hi)}; }
template <int N>
inline I32 i32_shr(I32 a) {
  return {half::i32_shr<N>(a.lo), half::i32_shr<N>(a.hi)};
}
template <int N>
inline I32 i32_shl(I32 a) {
  return {half::i32_shl<N>(a.lo), half::i32_shl<N>(a.hi)};
}
template <int N>
inline I32 i32_sar(I32 a) {
  return {half::i32_sar<N>(a.lo), half::i32_sar<N>(a.hi)};
}
inline F32 i32_to_f32(I32 a) { return {half::i32_to_f32(a.lo), half::i32_to_f32(a.hi)}; }
inline I32 f32_round(F32 a) { return {half::f32_round(a.lo), half::f32_round(a.hi)}; }
inline I32 f32_as_i32(F32 a) { return {half::f32_as_i32(a.lo), half::f32_as_i32(a.hi)}; }
inline F32 i32_as_f32(I32 a) { return {half::i32_as_f32(a.lo), half::i32_as_f32(a.hi)}; }
inline void i32_store_i8(int8_t* p, I32 v) {
  half::i32_store_i8(p, v.lo);
  half::i32_store_i8(p + kHalf, v.hi);
}
inline void i32_store_i16(int16_t* p, I32 v) {
  half::i32_store_i16(p, v.lo);
  half::i32_store_i16(p + kHalf, v.hi);
}
inline int32_t i32_sum(I32 a) { return half::i32_sum(half::i32_add(a.lo, a.hi)); }
inline void i32_sum_of_each(const I32 (&v)[4], int32_t (&out)[4]) {
  for (int i = 0; i < 4; ++i) out[i] = i32_sum(v[i]);
}

inline U8 u8_load(const uint8_t* p) { return {half::u8_load(p), half::u8_load(p + 32)}; }
inline U8 u8_sub(U8 a, int byte) {
  const __m256i bytes = _mm256_set1_epi8((char)byte);
  return {_mm256_sub_epi8(a.lo, bytes), _mm256_sub_epi8(a.hi, bytes)};
}
inline U8 u8_mask(U8 a, int byte) { return {half::u8_mask(a.lo, byte), half::u8_mask(a.hi, byte)}; }
inline U8 u8_or(U8 a, U8 b) { return i32_or(a, b); }
template <int N>
inline U8 u8_shr(U8 a, int byte) {
  return {half::u8_shr<N>(a.lo, byte), half::u8_shr<N>(a.hi, byte)};
}
template <int N>
inline U8 u8_shl(U8 a, int byte) {
  return {half::u8_shl<N>(a.lo, byte), half::u8_shl<N>(a.hi, byte)};
}
inline U8 u8_lookup(const uint8_t* table, U8 index) {
  return {half::u8_lookup(table, index.lo), half::u8_lookup(table, index.hi)};
}
inline constexpr int kTritShift = 6;
inline __m256i half_trit(__m256i x) {
  const __m256i u = _mm256_subs_epu8(x, _mm256_set1_epi8(1));
  return half::u8_mask(_mm256_avg_epu8(u, _mm256_avg_epu8(u, _mm256_setzero_si256())), 0xC0);
}
inline U8 u8_trit(U8 x) { return {half_trit(x.lo), half_trit(x.hi)}; }
inline U8 u8_triple(U8 x) { return {half::u8_triple(x.lo), half::u8_triple(x.hi)}; }
/// Four bytes that every lane meets, not yet loaded.
struct Bytes4 {
  const void* bytes;

  operator I32() const {  // NOLINT(google-explicit-constructor): it is what other levels have a U8 or an I16 for
    int32_t word;
    __builtin_memcpy(&word, bytes, 4);
    return i32_set(word);
  }
};
inline Bytes4 u8_broadcast4(const int8_t* p) { return {p}; }
inline I32 dot_small(I32 acc, U8 w, U8 a) { return {dot_bytes(acc.lo, w.lo, a.lo), dot_bytes(acc.hi, w.hi, a.hi)}; }
inline I32 dot_wide(I32 acc, U8 w, U8 a) { return dot_small(acc, w, a); }

inline constexpr bool kAnyByte = true;

inline I16 i16_pair_of(I32 a) { return {half::i16_pair_of(a.lo), half::i16_pair_of(a.hi)}; }
inline I16 i16_pair_with_upper(I32 a, I32 b) {
  return {_mm256_blend_epi16(a.lo, b.lo, 0xAA), _mm256_blend_epi16(a.hi, b.hi, 0xAA)};
}
inline I16 i16_load(const int16_t* p) { return {half::i16_load(p), half::i16_load(p + 16)}; }
inline I16 i16_widen(const int8_t* p) { return {half::i16_widen(p), half::i16_widen(p + 16)}; }
inline I16 i16_broadcast2(const int16_t* p) { return Bytes4{p}; }
inline I32 i32_sums_of_pairs(I16 a, I16 b) { return {_mm256_madd_epi16(a.lo, b.lo), _mm256_madd_epi16(a.hi, b.hi)}; }
inline I32 dot_pairs(I32 acc, I16 a, I16 b) {
  return {half::dot_pairs(acc.lo, a.lo, b.lo), half::dot_pairs(acc.hi, a.hi, b.hi)};
}

inline void keep_in_register(I32&) {}
inline void keep_in_register(F32&) {}
inline void make_unknown(U8&, I32&) {}
using half::prefetch;
using half::prefetch_far;

}  // namespace
}  // namespace octavo

#include "kernels/isa/small_sum_int32.h"
