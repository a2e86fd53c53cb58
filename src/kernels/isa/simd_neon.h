// SIMD names over AArch64 NEON with the dot-product and half-precision extensions. See simd_scalar.h for what each
// name means.
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

namespace octavo {
namespace {

using F32 = float32x4_t;
using I32 = int32x4_t;
using U8 = uint8x16_t;
using Mask = uint32x4_t;

/// Declares a part of a matrix product's kernel.
#define OCTAVO_KERNEL_PART __attribute__((always_inline)) inline
inline constexpr int kLanes = 4;
inline constexpr int kTileRows = 4;
inline constexpr int kTileVectors = 1;
inline constexpr int kPassQueries = 8;  // the most query rows that attention takes over a tile at once
inline constexpr int kWideBias = 0;

// A part of a vector is copied to a full one: no memory beyond the n elements is touched.
template <class T>
inline const T* copy_n(T (&full)[kLanes], const T* p, int n) {
  for (int i = 0; i < kLanes; ++i) full[i] = i < n ? p[i] : (T)0;
  return full;
}

inline F32 f32_zero() { return vdupq_n_f32(0.0F); }
inline F32 f32_set(float x) { return vdupq_n_f32(x); }
inline F32 f32_load(const float* p) { return vld1q_f32(p); }
inline void f32_store(float* p, F32 v) { vst1q_f32(p, v); }
inline F32 f32_load_n(const float* p, int n) {
  float full[kLanes];
  return f32_load(copy_n(full, p, n));
}
inline void f32_store_n(float* p, F32 v, int n) {
  float full[kLanes];
  f32_store(full, v);
  for (int i = 0; i < n; ++i) p[i] = full[i];
}
inline F32 f32_add(F32 a, F32 b) { return vaddq_f32(a, b); }
inline F32 f32_sub(F32 a, F32 b) { return vsubq_f32(a, b); }
inline F32 f32_mul(F32 a, F32 b) { return vmulq_f32(a, b); }
inline F32 f32_div(F32 a, F32 b) { return vdivq_f32(a, b); }
inline F32 f32_fma(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
inline F32 f32_add_product(F32 acc, F32 a, F32 b) { return vfmaq_f32(acc, a, b); }
inline F32 f32_max(F32 a, F32 b) { return vmaxq_f32(a, b); }
inline F32 f32_min(F32 a, F32 b) { return vminq_f32(a, b); }
inline F32 f32_abs(F32 a) { return vabsq_f32(a); }
inline float f32_sum(F32 a) { return vaddvq_f32(a); }
inline float f32_max_of(F32 a) { return vmaxvq_f32(a); }
inline void f32_max_of_each(const F32 (&v)[4], float (&out)[4]) {
  vst1q_f32(out, vpmaxq_f32(vpmaxq_f32(v[0], v[1]), vpmaxq_f32(v[2], v[3])));
}
inline Mask lanes_between(int lo, int hi) {
  const int32_t numbers[kLanes] = {0, 1, 2, 3};
  const I32 i = vld1q_s32(numbers);
  return vandq_u32(vcgeq_s32(i, vdupq_n_s32(lo)), vcltq_s32(i, vdupq_n_s32(hi)));
}
inline Mask f32_less(F32 a, F32 b) { return vcltq_f32(a, b); }
inline F32 f32_select(Mask m, F32 a, F32 b) { return vbslq_f32(m, a, b); }

inline F32 f32_load_f16(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
inline F32 f32_load_bf16(const uint16_t* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
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
  vst1_u16(full, vreinterpret_u16_f16(vcvt_f16_f32(v)));
  for (int i = 0; i < n; ++i) p[i] = full[i];
}

inline I32 i32_zero() { return vdupq_n_s32(0); }
inline I32 i32_set(int32_t x) { return vdupq_n_s32(x); }
inline I32 i32_load_i8(const int8_t* p) {
  int8_t full[8] = {};
  __builtin_memcpy(full, p, kLanes);
  return vmovl_s16(vget_low_s16(vmovl_s8(vld1_s8(full))));
}
inline I32 i32_load_u8(const uint8_t* p) {
  uint32_t word;
  __builtin_memcpy(&word, p, 4);
  const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(word));
  return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
}
inline I32 i32_add(I32 a, I32 b) { return vaddq_s32(a, b); }
inline I32 i32_sub(I32 a, I32 b) { return vsubq_s32(a, b); }
inline I32 i32_and(I32 a, I32 b) { return vandq_s32(a, b); }
inline I32 i32_or(I32 a, I32 b) { return vorrq_s32(a, b); }
template <int N>
inline I32 i32_shr(I32 a) {
  return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), N));
}
template <int N>
inline I32 i32_shl(I32 a) {
  return vshlq_n_s32(a, N);
}
template <int N>
inline I32 i32_sar(I32 a) {
  if constexpr (N == 0) return a;
  return vshlq_s32(a, vdupq_n_s32(-N));
}
inline F32 i32_to_f32(I32 a) { return vcvtq_f32_s32(a); }
inline I32 f32_round(F32 a) { return vcvtnq_s32_f32(a); }
inline I32 f32_as_i32(F32 a) { return vreinterpretq_s32_f32(a); }
inline F32 i32_as_f32(I32 a) { return vreinterpretq_f32_s32(a); }
inline void i32_store_i8(int8_t* p, I32 v) {
  const int16x4_t words = vmovn_s32(v);
  const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
  __builtin_memcpy(p, &bytes, 4);
}
inline void i32_store_i16(int16_t* p, I32 v) { vst1_s16(p, vmovn_s32(v)); }
inline int32_t i32_sum(I32 a) { return vaddvq_s32(a); }
inline void i32_sum_of_each(const I32 (&v)[4], int32_t (&out)[4]) {
  vst1q_s32(out, vpaddq_s32(vpaddq_s32(v[0], v[1]), vpaddq_s32(v[2], v[3])));
}

inline U8 u8_load(const uint8_t* p) { return vld1q_u8(p); }
inline U8 u8_mask(U8 a, int byte) { return vandq_u8(a, vdupq_n_u8((uint8_t)byte)); }
inline U8 u8_or(U8 a, U8 b) { return vorrq_u8(a, b); }
template <int N>
inline U8 u8_shr(U8 a, int byte) {
  return u8_mask(vshrq_n_u8(a, N), byte);
}
template <int N>
inline U8 u8_shl(U8 a, int byte) {
  return u8_mask(vshlq_n_u8(a, N), byte);
}
inline U8 u8_lookup(const uint8_t* table, U8 index) { return vqtbl1q_u8(vld1q_u8(table), index); }
// 3 x is 256 or more from 86 on, 512 or more from 171 on; comparisons give -1.
inline constexpr int kTritShift = 0;
inline U8 u8_trit(U8 x) {
  const U8 more = vaddq_u8(vcgtq_u8(x, vdupq_n_u8(85)), vcgtq_u8(x, vdupq_n_u8(170)));
  return vreinterpretq_u8_s8(vnegq_s8(vreinterpretq_s8_u8(more)));
}
inline U8 u8_triple(U8 x) { return vaddq_u8(x, vaddq_u8(x, x)); }
inline U8 u8_broadcast4(const int8_t* p) {
  uint32_t word;
  __builtin_memcpy(&word, p, 4);
  return vreinterpretq_u8_u32(vdupq_n_u32(word));
}
inline I32 dot_small(I32 acc, U8 w, U8 a) { return vdotq_s32(acc, vreinterpretq_s8_u8(w), vreinterpretq_s8_u8(a)); }
inline I32 dot_wide(I32 acc, U8 w, U8 a) {
  return vdotq_s32(acc, vreinterpretq_s8_u8(veorq_u8(w, vdupq_n_u8(0x80))), vreinterpretq_s8_u8(a));
}

inline constexpr bool kAnyByte = false;  // bytes are signed

using I16 = int16x8_t;
inline I16 i16_load(const int16_t* p) { return vld1q_s16(p); }
inline I16 i16_widen(const int8_t* p) { return vmovl_s8(vld1_s8(p)); }
inline I16 i16_broadcast2(const int16_t* p) {
  int32_t pair;
  __builtin_memcpy(&pair, p, 4);
  return vreinterpretq_s16_s32(vdupq_n_s32(pair));
}
inline I16 i16_pair_of(I32 a) { return vreinterpretq_s16_s32(veorq_s32(a, vdupq_n_s32(0x8000))); }
inline I32 dot_pairs(I32 acc, I16 a, I16 b) {
  const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b)), high = vmull_high_s16(a, b);
  return vaddq_s32(acc, vpaddq_s32(low, high));
}
inline void keep_in_register(I32& v) { asm("" : "+w"(v)); }
inline void keep_in_register(F32& v) { asm("" : "+w"(v)); }
inline void make_unknown(U8&, I32&) {}

__attribute__((always_inline)) inline void prefetch(const void* p) { __builtin_prefetch(p); }
__attribute__((always_inline)) inline void prefetch_far(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace
}  // namespace octavo

#include "kernels/isa/small_sum_int32.h"
