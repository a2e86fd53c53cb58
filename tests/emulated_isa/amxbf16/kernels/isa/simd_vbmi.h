// The names of src/kernels/isa/simd_vbmi.h over plain loops. The level's unit finds this file first when it is compiled
// for processors without AVX-512 VBMI.
#pragma once

#include "kernels/isa/simd_avx512.h"

namespace octavo {
namespace {

struct Words16 {
  alignas(64) uint32_t word[16];

  explicit Words16(I32 v) { i32_store((int32_t*)word, v); }
  I32 vector() const { return i32_load((const int32_t*)word); }
};

inline U8 u8_fields(U8 starts, U8 v) {
  const Words16 start(starts), from(v);
  Words16 out(v);
  for (int i = 0; i < 64; ++i) {
    const int first = ((const uint8_t*)start.word)[i] % 64;
    uint64_t bits;
    __builtin_memcpy(&bits, (const uint8_t*)from.word + i / 8 * 8, 8);
    ((uint8_t*)out.word)[i] = (uint8_t)(first == 0 ? bits : bits >> first | bits << (64 - first));
  }
  return out.vector();
}
inline U8 u8_pick(U8 table, U8 index) {
  const Words16 from(table), at(index);
  Words16 out(table);
  for (int i = 0; i < 64; ++i) ((uint8_t*)out.word)[i] = ((const uint8_t*)from.word)[((const uint8_t*)at.word)[i] % 64];
  return out.vector();
}
inline I32 i32_choose(I32 mask, I32 a, I32 b) {
  const Words16 m(mask), x(a), y(b);
  Words16 out(a);
  for (int i = 0; i < 16; ++i) out.word[i] = (m.word[i] & x.word[i]) | (~m.word[i] & y.word[i]);
  return out.vector();
}
inline I32 i32_and_or(I32 a, I32 mask, I32 b) { return i32_or(i32_and(a, mask), b); }

inline void f32_transpose(F32 (&v)[16]) {
  float from[16][16], to[16][16];
  for (int i = 0; i < 16; ++i) f32_store(from[i], v[i]);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) to[i][j] = from[j][i];
  for (int i = 0; i < 16; ++i) v[i] = f32_load(to[i]);
}

}  // namespace
}  // namespace octavo
