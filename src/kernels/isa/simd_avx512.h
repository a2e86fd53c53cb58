// SIMD names over AVX-512 F, BW, VL, DQ and VNNI. See simd_scalar.h for what each name means.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/isa/shape_avx512.h"

namespace octavo {
namespace {

using F32 = __m512;
using I32 = __m512i;
using U8 = __m512i;
using Mask = __mmask16;

/// Declares a part of a matrix product's kernel.
#define OCTAVO_KERNEL_PART __attribute__((always_inline)) inline

inline F32 f32_zero() { return _mm512_setzero_ps(); }
inline F32 f32_set(float x) { return _mm512_set1_ps(x); }
inline F32 f32_load(const float* p) { return _mm512_loadu_ps(p); }
inline void f32_store(float* p, F32 v) { _mm512_storeu_ps(p, v); }
inline __mmask16 first_lanes(int n) { return (__mmask16)((1U << n) - 1U); }
inline F32 f32_load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void f32_store_n(float* p, F32 v, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
inline F32 f32_add(F32 a, F32 b) { return _mm512_add_ps(a, b); }
inline F32 f32_sub(F32 a, F32 b) { return _mm512_sub_ps(a, b); }
inline F32 f32_mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
inline F32 f32_div(F32 a, F32 b) { return _mm512_div_ps(a, b); }
inline F32 f32_fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
/// In assembly: with many intrinsics GCC 12 overwrites factors and moves sums about, with spills.
inline F32 f32_add_product(F32 acc, F32 a, F32 b) {
  asm("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
}
inline F32 f32_max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
inline F32 f32_min(F32 a, F32 b) { return _mm512_min_ps(a, b); }
inline F32 f32_abs(F32 a) { return _mm512_abs_ps(a); }
inline float f32_sum(F32 a) { return _mm512_reduce_add_ps(a); }
inline float f32_max_of(F32 a) { return _mm512_reduce_max_ps(a); }
inline void f32_max_of_each(const F32 (&v)[4], float (&out)[4]) {
  const F32 a = _mm512_max_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
  const F32 b = _mm512_max_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
  const F32 c = _mm512_max_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
  const __m256 d = _mm256_max_ps(_mm512_castps512_ps256(c), _mm512_extractf32x8_ps(c, 1));
  _mm_storeu_ps(out, _mm_max_ps(_mm256_castps256_ps128(d), _mm256_extractf128_ps(d, 1)));
}
inline Mask lanes_between(int lo, int hi) {
  const I32 i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_cmpge_epi32_mask(i, _mm512_set1_epi32(lo)) & _mm512_cmplt_epi32_mask(i, _mm512_set1_epi32(hi));
}
inline Mask f32_less(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
inline F32 f32_select(Mask m, F32 a, F32 b) { return _mm512_mask_blend_ps(m, b, a); }

inline F32 f32_load_f16(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
inline F32 f32_load_f16_n(const uint16_t* p, int n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
inline F32 widen_bf16(__m256i v) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16)); }
inline F32 f32_load_bf16(const uint16_t* p) { return widen_bf16(_mm256_loadu_si256((const __m256i*)p)); }
inline F32 f32_load_bf16_n(const uint16_t* p, int n) { return widen_bf16(_mm256_maskz_loadu_epi16(first_lanes(n), p)); }
inline void f32_store_f16_n(uint16_t* p, F32 v, int n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline I32 i32_zero() { return _mm512_setzero_si512(); }
inline I32 i32_set(int32_t x) { return _mm512_set1_epi32(x); }
inline I32 i32_load(const int32_t* p) { return _mm512_loadu_si512(p); }
inline void i32_store(int32_t* p, I32 v) { _mm512_storeu_si512(p, v); }
inline I32 i32_load_i8(const int8_t* p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)); }
inline I32 i32_load_u8(const uint8_t* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }
inline I32 i32_add(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
inline I32 i32_sub(I32 a, I32 b) { return _mm512_sub_epi32(a, b); }
inline I32 i32_and(I32 a, I32 b) { return _mm512_and_si512(a, b); }
inline I32 i32_or(I32 a, I32 b) { return _mm512_or_si512(a, b); }
template <int N>
inline I32 i32_shr(I32 a) {
  return _mm512_srli_epi32(a, N);
}
template <int N>
inline I32 i32_shl(I32 a) {
  return _mm512_slli_epi32(a, N);
}
template <int N>
inline I32 i32_sar(I32 a) {
  return _mm512_srai_epi32(a, N);
}
inline F32 i32_to_f32(I32 a) { return _mm512_cvtepi32_ps(a); }
inline I32 f32_round(F32 a) { return _mm512_cvtps_epi32(a); }
inline I32 f32_as_i32(F32 a) { return _mm512_castps_si512(a); }
inline F32 i32_as_f32(I32 a) { return _mm512_castsi512_ps(a); }
inline void i32_store_i8(int8_t* p, I32 v) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(v)); }
inline void i32_store_i16(int16_t* p, I32 v) { _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16(v)); }
inline int32_t i32_sum(I32 a) { return _mm512_reduce_add_epi32(a); }
inline void i32_sum_of_each(const I32 (&v)[4], int32_t (&out)[4]) {
  const I32 a = _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
  const I32 b = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
  const I32 c = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  const __m256i d = _mm256_add_epi32(_mm512_castsi512_si256(c), _mm512_extracti64x4_epi64(c, 1));
  _mm_storeu_si128((__m128i*)out, _mm_add_epi32(_mm256_castsi256_si128(d), _mm256_extracti128_si256(d, 1)));
}

inline U8 u8_load(const uint8_t* p) { return _mm512_loadu_si512(p); }
inline U8 u8_mask(U8 a, int byte) { return _mm512_and_si512(a, _mm512_set1_epi8((char)byte)); }
inline U8 u8_sub(U8 a, int byte) { return _mm512_sub_epi8(a, _mm512_set1_epi8((char)byte)); }
inline U8 u8_or(U8 a, U8 b) { return _mm512_or_si512(a, b); }
template <int N>
inline U8 u8_shr(U8 a, int byte) {
  return u8_mask(_mm512_srli_epi16(a, N), byte);
}
template <int N>
inline U8 u8_shl(U8 a, int byte) {
  return u8_mask(_mm512_slli_epi16(a, N), byte);
}
inline U8 u8_lookup(const uint8_t* table, U8 index) {
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)table)), index);
}
// 64 times the digit: (x + x / 2) / 2 has it in its upper two bits. u is max(x - 1, 0); averages round up.
inline constexpr int kTritShift = 6;
inline U8 u8_trit(U8 x) {
  const U8 u = _mm512_subs_epu8(x, _mm512_set1_epi8(1));
  return u8_mask(_mm512_avg_epu8(u, _mm512_avg_epu8(u, _mm512_setzero_si512())), 0xC0);
}
inline U8 u8_triple(U8 x) { return _mm512_add_epi8(x, _mm512_add_epi8(x, x)); }
/// Four bytes that meet every lane. A product can read them from memory itself; with intrinsics GCC 12 makes two
/// instructions of that, and fewer products are in flight.
struct Bytes4 {
  const void* bytes;

  operator __m512i() const {  // NOLINT(google-explicit-constructor): a U8 or an I16 of other levels
    int32_t word;
    __builtin_memcpy(&word, bytes, 4);
    return _mm512_set1_epi32(word);
  }
};
inline Bytes4 u8_broadcast4(const int8_t* p) { return {p}; }
inline I32 dot_small(I32 acc, U8 w, U8 a) {
  asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(a));
  return acc;
}
inline I32 dot_small(I32 acc, U8 w, Bytes4 a) {
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(w), "m"(*(const int8_t(*)[4])a.bytes));
  return acc;
}
inline I32 dot_wide(I32 acc, U8 w, auto a) { return dot_small(acc, w, a); }

inline constexpr bool kAnyByte = true;

using I16 = __m512i;
inline I16 i16_pair_of(I32 a) { return _mm512_xor_si512(a, _mm512_set1_epi32(0x8000)); }
/// The lower half of each lane of a, the upper one of b.
inline I16 i16_pair_with_upper(I32 a, I32 b) {
  return _mm512_ternarylogic_epi32(a, _mm512_set1_epi32(0xFFFF), b, 0xE2);
}
inline I16 i16_load(const int16_t* p) { return _mm512_loadu_si512(p); }
inline I16 i16_widen(const int8_t* p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)p)); }
inline I16 i16_broadcast2(const int16_t* p) { return Bytes4{p}; }
inline I32 i32_sums_of_pairs(I16 a, I16 b) { return _mm512_madd_epi16(a, b); }
/// In assembly: with the intrinsic GCC 12 copies every sum before it adds to it, and spills half of them.
inline I32 dot_pairs(I32 acc, I16 a, I16 b) {
  asm("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
}

inline void keep_in_register(I32& v) { asm("" : "+v"(v)); }
inline void keep_in_register(F32& v) { asm("" : "+v"(v)); }
inline void make_unknown(U8&, I32&) {}

// Inlined before the compiler asks what a call changes: it sees no effect in a prefetch, and would drop the call.
__attribute__((always_inline)) inline void prefetch(const void* p) { _mm_prefetch((const char*)p, _MM_HINT_T0); }
__attribute__((always_inline)) inline void prefetch_far(const void* p) { _mm_prefetch((const char*)p, _MM_HINT_T1); }

}  // namespace
}  // namespace octavo

#include "kernels/isa/small_sum_int32.h"
