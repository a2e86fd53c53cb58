// SIMD names over AVX2, FMA and F16C, and AVX-VNNI where OCTAVO_AVX_VNNI is defined. See simd_scalar.h for what
// each name means.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace octavo {
namespace {

using F32 = __m256;
using I32 = __m256i;
using U8 = __m256i;
using Mask = __m256;

/// Declares a part of a matrix product's kernel.
#define OCTAVO_KERNEL_PART __attribute__((always_inline)) inline
inline constexpr int kLanes = 8;
inline constexpr int kTileRows = 4;
inline constexpr int kTileVectors = 2;
inline constexpr int kPassQueries = 8;  // the most query rows that attention takes over a tile at once
#ifdef OCTAVO_AVX_VNNI
inline constexpr int kWideBias = 128;
#else
inline constexpr int kWideBias = 0;
#endif

inline __m256i lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
inline __m256i first_lanes(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane_numbers()); }

inline F32 f32_zero() { return _mm256_setzero_ps(); }
inline F32 f32_set(float x) { return _mm256_set1_ps(x); }
inline F32 f32_load(const float* p) { return _mm256_loadu_ps(p); }
inline void f32_store(float* p, F32 v) { _mm256_storeu_ps(p, v); }
inline F32 f32_load_n(const float* p, int n) { return _mm256_maskload_ps(p, first_lanes(n)); }
inline void f32_store_n(float* p, F32 v, int n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
inline F32 f32_add(F32 a, F32 b) { return _mm256_add_ps(a, b); }
inline F32 f32_sub(F32 a, F32 b) { return _mm256_sub_ps(a, b); }
inline F32 f32_mul(F32 a, F32 b) { return _mm256_mul_ps(a, b); }
inline F32 f32_div(F32 a, F32 b) { return _mm256_div_ps(a, b); }
inline F32 f32_fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
inline F32 f32_add_product(F32 acc, F32 a, F32 b) { return _mm256_fmadd_ps(a, b, acc); }
inline F32 f32_max(F32 a, F32 b) { return _mm256_max_ps(a, b); }
inline F32 f32_min(F32 a, F32 b) { return _mm256_min_ps(a, b); }
inline F32 f32_abs(F32 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
inline float f32_sum(F32 a) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline void f32_max_of_each(const F32 (&v)[4], float (&out)[4]) {
  const F32 a = _mm256_max_ps(_mm256_unpacklo_ps(v[0], v[1]), _mm256_unpackhi_ps(v[0], v[1]));
  const F32 b = _mm256_max_ps(_mm256_unpacklo_ps(v[2], v[3]), _mm256_unpackhi_ps(v[2], v[3]));
  const F32 c = _mm256_max_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xEE));
  _mm_storeu_ps(out, _mm_max_ps(_mm256_castps256_ps128(c), _mm256_extractf128_ps(c, 1)));
}
inline float f32_max_of(F32 a) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline Mask lanes_between(int lo, int hi) {
  return _mm256_castsi256_ps(_mm256_andnot_si256(first_lanes(lo), first_lanes(hi)));
}
inline Mask f32_less(F32 a, F32 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
inline F32 f32_select(Mask m, F32 a, F32 b) { return _mm256_blendv_ps(b, a, m); }

// A part of a vector is copied to a full one: no memory beyond the n elements is touched.
template <class T>
inline const T* copy_n(T (&full)[kLanes], const T* p, int n) {
  for (int i = 0; i < kLanes; ++i) full[i] = i < n ? p[i] : (T)0;
  return full;
}

inline F32 f32_load_f16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
inline F32 f32_load_bf16(const uint16_t* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline F32 f32_load_f16_n(const uint16_t* p, int n) {
  uint16_t full[kLanes];
  return f32_load_f16(copy_n(full, p, n));
}
inline F32 f32_load_bf16_n(const uint16_t* p, int n) {
  uint16_t full[kLanes];
  return f32_load_bf16(copy_n(full, p, n));
}
inline void f32_store_f16_n(uint16_t* p, F32 v, int n) {
  uint16_t full[kLanes];
  _mm_storeu_si128((__m128i*)full, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  for (int i = 0; i < n; ++i) p[i] = full[i];
}

inline I32 i32_zero() { return _mm256_setzero_si256(); }
inline I32 i32_set(int32_t x) { return _mm256_set1_epi32(x); }
inline I32 i32_load_u8(const uint8_t* p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
inline I32 i32_load_i8(const int8_t* p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)); }
inline I32 i32_add(I32 a, I32 b) { return _mm256_add_epi32(a, b); }
inline I32 i32_sub(I32 a, I32 b) { return _mm256_sub_epi32(a, b); }
inline I32 i32_and(I32 a, I32 b) { return _mm256_and_si256(a, b); }
inline I32 i32_or(I32 a, I32 b) { return _mm256_or_si256(a, b); }
template <int N>
inline I32 i32_shr(I32 a) {
  return _mm256_srli_epi32(a, N);
}
template <int N>
inline I32 i32_shl(I32 a) {
  return _mm256_slli_epi32(a, N);
}
template <int N>
inline I32 i32_sar(I32 a) {
  return _mm256_srai_epi32(a, N);
}
inline F32 i32_to_f32(I32 a) { return _mm256_cvtepi32_ps(a); }
inline I32 f32_round(F32 a) { return _mm256_cvtps_epi32(a); }
inline I32 f32_as_i32(F32 a) { return _mm256_castps_si256(a); }
inline F32 i32_as_f32(I32 a) { return _mm256_castsi256_ps(a); }
inline void i32_store_i8(int8_t* p, I32 v) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storel_epi64((__m128i*)p, _mm_packs_epi16(words, words));
}
inline void i32_store_i16(int16_t* p, I32 v) {
  _mm_storeu_si128((__m128i*)p, _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}
inline int32_t i32_sum(I32 a) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
}
inline void i32_sum_of_each(const I32 (&v)[4], int32_t (&out)[4]) {
  const I32 a = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
  _mm_storeu_si128((__m128i*)out, _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}

inline U8 u8_load(const uint8_t* p) { return _mm256_loadu_si256((const __m256i*)p); }
inline U8 u8_mask(U8 a, int byte) { return _mm256_and_si256(a, _mm256_set1_epi8((char)byte)); }
inline U8 u8_or(U8 a, U8 b) { return _mm256_or_si256(a, b); }
template <int N>
inline U8 u8_shr(U8 a, int byte) {
  return u8_mask(_mm256_srli_epi16(a, N), byte);
}
template <int N>
inline U8 u8_shl(U8 a, int byte) {
  return u8_mask(_mm256_slli_epi16(a, N), byte);
}
inline U8 u8_lookup(const uint8_t* table, U8 index) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table)), index);
}
// 3 x is 256 or more from 86 on, 512 or more from 171 on.
inline constexpr int kTritShift = 0;
inline U8 u8_trit(U8 x) {
  const __m256i one = _mm256_set1_epi8(1);
  const __m256i some = _mm256_min_epu8(_mm256_subs_epu8(x, _mm256_set1_epi8(85)), one);
  return _mm256_add_epi8(some, _mm256_min_epu8(_mm256_subs_epu8(x, _mm256_set1_epi8((char)170)), one));
}
inline U8 u8_triple(U8 x) { return _mm256_add_epi8(x, _mm256_add_epi8(x, x)); }
inline U8 u8_broadcast4(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm256_set1_epi32(word);
}
#ifdef OCTAVO_AVX_VNNI
inline I32 dot_small(I32 acc, U8 w, U8 a) { return _mm256_dpbusd_avx_epi32(acc, w, a); }
inline I32 dot_wide(I32 acc, U8 w, U8 a) { return _mm256_dpbusd_avx_epi32(acc, w, a); }
inline void make_unknown(U8&, I32&) {}
inline constexpr bool kAnyByte = true;
#else
inline I32 add_pairs(I32 acc, __m256i words) {
  return _mm256_add_epi32(acc, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
}
// maddubs saturates at 16 bits: weights up to 127 are safe, since 2 * 127 * 127 < 2^15.
inline I32 dot_small(I32 acc, U8 w, U8 a) { return add_pairs(acc, _mm256_maddubs_epi16(w, a)); }
inline void make_unknown(U8& v, I32& behind) { asm("" : "+x"(v), "+x"(behind)); }
// A product of two pairs is at most 2 * 127 * max_byte.
using SmallSum = __m256i;  // 16 bits for each pair
constexpr int small_sum_quads(int max_byte) {
  int quads = 8;
  while (quads * 2 * 127 * max_byte > 32767) quads /= 2;
  return quads;
}
inline SmallSum small_sum_of(I32) { return _mm256_setzero_si256(); }
inline SmallSum add_products(SmallSum sum, U8 w, U8 a) { return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, a)); }
inline I32 small_sum_end(SmallSum sum, I32 start) { return add_pairs(start, sum); }
#ifdef OCTAVO_FLOAT_SCALES
inline constexpr bool kWordSums = false;
#else
inline constexpr bool kWordSums = true;
#endif
/// acc plus a small sum's pairs, times the integer that stands twice in each lane of `scale`.
inline I32 add_scaled(I32 acc, SmallSum sum, __m256i scale) {
  return _mm256_add_epi32(acc, _mm256_madd_epi16(sum, scale));
}
/// The lower half of each lane, twice.
inline __m256i i16_twice(I32 a) { return _mm256_blend_epi16(a, _mm256_slli_epi32(a, 16), 0xAA); }
// GCC 12 turns a chain of additions into a tree: of several chains all products are alive at once, and go through
// memory.
template <int Chains>
inline __m256i keep_chain(__m256i sum) {
  if constexpr (Chains >= 2) asm("" : "+x"(sum));
  return sum;
}
inline constexpr bool kAnyByte = false;
// Eight-bit weights: the magnitude (up to 128) meets the activation (up to 127) that took over the weight's sign.
struct WideOperand {
  __m256i weight, magnitude;
};
inline WideOperand wide_operand(U8 w) {
  const __m256i weight = _mm256_xor_si256(w, _mm256_set1_epi8((char)0x80));
  return {weight, _mm256_abs_epi8(weight)};
}
inline I32 dot_wide(I32 acc, const WideOperand& w, U8 a) {
  return add_pairs(acc, _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(a, w.weight)));
}
#endif

using I16 = __m256i;
inline I16 i16_pair_of(I32 a) { return _mm256_xor_si256(a, _mm256_set1_epi32(0x8000)); }
inline I16 i16_load(const int16_t* p) { return _mm256_loadu_si256((const __m256i*)p); }
inline I16 i16_widen(const int8_t* p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)p)); }
inline I16 i16_broadcast2(const int16_t* p) {
  int32_t pair;
  __builtin_memcpy(&pair, p, 4);
  return _mm256_set1_epi32(pair);
}
#ifdef OCTAVO_AVX_VNNI
/// In assembly: with the intrinsic GCC 12 copies every sum before it adds to it, and spills half of them.
inline I32 dot_pairs(I32 acc, I16 a, I16 b) {
  asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b));
  return acc;
}
#else
inline I32 dot_pairs(I32 acc, I16 a, I16 b) { return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b)); }
#endif

inline void keep_in_register(I32& v) { asm("" : "+x"(v)); }
inline void keep_in_register(F32& v) { asm("" : "+x"(v)); }

// Inlined before the compiler asks what a call changes: it sees no effect in a prefetch, and would drop the call.
__attribute__((always_inline)) inline void prefetch(const void* p) { _mm_prefetch((const char*)p, _MM_HINT_T0); }
__attribute__((always_inline)) inline void prefetch_far(const void* p) { _mm_prefetch((const char*)p, _MM_HINT_T1); }

}  // namespace
}  // namespace octavo

#ifdef OCTAVO_AVX_VNNI
#include "kernels/isa/small_sum_int32.h"
#endif
