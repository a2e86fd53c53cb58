// SIMD names beside those of simd_avx512.h, for the level amxbf16: fields of bits and tables of 64 bytes (AVX-512
// VBMI), and a transposition. tests/emulated_isa/amxbf16 says in plain C++ what each name does.
#pragma once

#include "kernels/isa/simd_avx512.h"

namespace octavo {
namespace {

/// Byte i of each eight becomes the eight bits from bit starts[i] % 64 on of those eight, which are a ring.
inline U8 u8_fields(U8 starts, U8 v) { return _mm512_multishift_epi64_epi8(starts, v); }
/// Byte index[i] % 64 of the table.
inline U8 u8_pick(U8 table, U8 index) { return _mm512_permutexvar_epi8(index, table); }
/// Bits of a where the mask has ones, else those of b.
inline I32 i32_choose(I32 mask, I32 a, I32 b) { return _mm512_ternarylogic_epi32(mask, a, b, 0xCA); }
/// Bits of a under the mask, and those of b.
inline I32 i32_and_or(I32 a, I32 mask, I32 b) { return _mm512_ternarylogic_epi32(a, mask, b, 0xEA); }

/// Number i of vector j becomes number j of vector i.
inline void f32_transpose(F32 (&v)[16]) {
  F32 t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const __m512d a = _mm512_castps_pd(t[4 * i + j]), b = _mm512_castps_pd(t[4 * i + 2 + j]);
      v[4 * i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      v[4 * i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    t[c] = _mm512_shuffle_f32x4(v[c], v[4 + c], 0x88);
    t[4 + c] = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0x88);
    t[8 + c] = _mm512_shuffle_f32x4(v[c], v[4 + c], 0xDD);
    t[12 + c] = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0xDD);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    v[c] = _mm512_shuffle_f32x4(t[c], t[4 + c], 0x88);
    v[8 + c] = _mm512_shuffle_f32x4(t[c], t[4 + c], 0xDD);
    v[4 + c] = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], 0x88);
    v[12 + c] = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], 0xDD);
  }
}

}  // namespace
}  // namespace octavo
