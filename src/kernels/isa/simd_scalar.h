// The SIMD names that every kernel is written in, over plain C++: the meaning of each, and the level that runs
// anywhere. Vectors of 16 bytes are GCC's and Clang's own, which become the vectors that the target always has. A
// compiler reads an operation on one as one; arrays of four took it several times as long.
//
// Everything is in an anonymous namespace: units of different instruction sets must not share a function.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace octavo {
namespace {

/// Declares a part of a matrix product's kernel. Here the compiler decides what to inline: always inlining takes it
/// longer, for code that nobody waits for.
#define OCTAVO_KERNEL_PART inline
inline constexpr int kLanes = 4;        // 32-bit lanes of a vector; a U8 holds four bytes a lane
inline constexpr int kTileRows = 4;     // rows of activations that the matrix kernels keep in registers
inline constexpr int kTileVectors = 1;  // vectors of outputs whose weights meet those rows together
inline constexpr int kWideBias = 0;     // the number that dot_wide adds to a weight

/// The most query rows that attention takes over a tile at once. This level is the slow one, and each count is code of
/// its own.
inline constexpr int kPassQueries = 2;

using FloatLanes __attribute__((vector_size(16))) = float;
using IntLanes __attribute__((vector_size(16))) = int32_t;
using WordLanes __attribute__((vector_size(16))) = uint32_t;
using ShortLanes __attribute__((vector_size(16))) = int16_t;
using ByteLanes __attribute__((vector_size(16))) = uint8_t;
using FourShorts __attribute__((vector_size(8))) = uint16_t;
using FourBytes __attribute__((vector_size(4))) = int8_t;
using EightBytes __attribute__((vector_size(8))) = int8_t;

struct F32 {
  FloatLanes v;
};
struct I32 {
  IntLanes v;
};
struct U8 {
  ByteLanes v;
};
struct Mask {
  IntLanes v;  // -1 for true, 0 for false
};

template <class Lanes>
inline Lanes lanes_at(const void* p) {
  Lanes lanes;
  __builtin_memcpy(&lanes, p, sizeof lanes);
  return lanes;
}
/// Loads the first n elements; the other lanes are 0, and their memory is not touched.
template <class Lanes, class Element>
inline Lanes lanes_at_n(const Element* p, int n) {
  Lanes lanes{};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return lanes;
}

inline F32 f32_set(float x) { return {FloatLanes{x, x, x, x}}; }
inline F32 f32_zero() { return f32_set(0.0F); }
inline F32 f32_load(const float* p) { return {lanes_at<FloatLanes>(p)}; }
inline void f32_store(float* p, F32 a) { __builtin_memcpy(p, &a, sizeof a); }
/// Loads the first n lanes; the other lanes are 0, and their memory is not touched.
inline F32 f32_load_n(const float* p, int n) { return {lanes_at_n<FloatLanes>(p, n)}; }
inline void f32_store_n(float* p, F32 a, int n) {
  for (int i = 0; i < n; ++i) p[i] = a.v[i];
}
inline F32 f32_add(F32 a, F32 b) { return {a.v + b.v}; }
inline F32 f32_sub(F32 a, F32 b) { return {a.v - b.v}; }
inline F32 f32_mul(F32 a, F32 b) { return {a.v * b.v}; }
inline F32 f32_div(F32 a, F32 b) { return {a.v / b.v}; }
/// a * b + c. It is rounded once where the level has fused multiply-add, and twice here unless OCTAVO_ROUND_ONCE is
/// defined: that calls the C library's fmaf(), which is exact, and slow on processors without the instruction.
#ifdef OCTAVO_ROUND_ONCE
__attribute__((noinline)) F32 f32_fma(F32 a, F32 b, F32 c) {
  for (int i = 0; i < kLanes; ++i) c.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
  return c;
}
#else
inline F32 f32_fma(F32 a, F32 b, F32 c) { return {a.v * b.v + c.v}; }
#endif
/// acc + a * b, as f32_fma; for loops whose sums fill the registers.
inline F32 f32_add_product(F32 acc, F32 a, F32 b) { return f32_fma(a, b, acc); }
inline F32 f32_max(F32 a, F32 b) { return {a.v > b.v ? a.v : b.v}; }
inline F32 f32_min(F32 a, F32 b) { return {a.v < b.v ? a.v : b.v}; }
inline F32 f32_abs(F32 a) { return {(FloatLanes)((WordLanes)a.v & 0x7FFFFFFFU)}; }
inline float f32_sum(F32 a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
inline float f32_max_of(F32 a) {
  float m = a.v[0];
  for (int i = 1; i < kLanes; ++i) m = a.v[i] > m ? a.v[i] : m;
  return m;
}
/// Gives the largest lane of each of four vectors.
inline void f32_max_of_each(const F32 (&v)[4], float (&out)[4]) {
  for (int i = 0; i < 4; ++i) out[i] = f32_max_of(v[i]);
}
/// The lanes lo <= i < hi; either bound may lie outside the vector.
inline Mask lanes_between(int lo, int hi) {
  const IntLanes lane = {0, 1, 2, 3};
  return {(IntLanes)(lane >= lo) & (IntLanes)(lane < hi)};
}
inline Mask f32_less(F32 a, F32 b) { return {(IntLanes)(a.v < b.v)}; }
/// a where the mask holds, else b; lanes that are not selected have no influence, NaN or not.
inline F32 f32_select(Mask m, F32 a, F32 b) { return {m.v ? a.v : b.v}; }

inline I32 i32_set(int32_t x) { return {IntLanes{x, x, x, x}}; }
inline I32 i32_zero() { return i32_set(0); }
/// a + b in each lane; it wraps as in the instructions of other levels.
inline IntLanes wrapping_sum(IntLanes a, IntLanes b) { return (IntLanes)((WordLanes)a + (WordLanes)b); }
inline I32 i32_load_i8(const int8_t* p) { return {__builtin_convertvector(lanes_at<FourBytes>(p), IntLanes)}; }
inline I32 i32_load_u8(const uint8_t* p) { return {lanes_at_n<IntLanes>(p, kLanes)}; }
inline I32 i32_add(I32 a, I32 b) { return {wrapping_sum(a.v, b.v)}; }
inline I32 i32_sub(I32 a, I32 b) { return {(IntLanes)((WordLanes)a.v - (WordLanes)b.v)}; }
inline I32 i32_and(I32 a, I32 b) { return {a.v & b.v}; }
inline I32 i32_or(I32 a, I32 b) { return {a.v | b.v}; }
template <int N>
inline I32 i32_shr(I32 a) {
  return {(IntLanes)((WordLanes)a.v >> N)};
}
template <int N>
inline I32 i32_shl(I32 a) {
  return {(IntLanes)((WordLanes)a.v << N)};
}
/// Shifts each lane right with its sign.
template <int N>
inline I32 i32_sar(I32 a) {
  return {a.v >> N};
}
inline F32 i32_to_f32(I32 a) { return {__builtin_convertvector(a.v, FloatLanes)}; }
/// The nearest integer to a small value, ties to even. Large values and NaN give some integer, as on x86.
inline I32 f32_round(F32 a) {
  I32 rounded{};
  for (int i = 0; i < kLanes; ++i) {
    const float r = __builtin_rintf(a.v[i]);
    rounded.v[i] = r >= -0x1p31F && r < 0x1p31F ? (int32_t)r : INT32_MIN;
  }
  return rounded;
}
inline I32 f32_as_i32(F32 a) { return {(IntLanes)a.v}; }
inline F32 i32_as_f32(I32 a) { return {(FloatLanes)a.v}; }
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
/// Gives the sum of the lanes of each of four vectors.
inline void i32_sum_of_each(const I32 (&v)[4], int32_t (&out)[4]) {
  for (int i = 0; i < 4; ++i) out[i] = i32_sum(v[i]);
}

inline F32 widen_f16(FourShorts halfs) {
  const WordLanes h = __builtin_convertvector(halfs, WordLanes);
  const WordLanes sign = (h & 0x8000U) << 16, exponent = h >> 10 & 31U, fraction = h & 1023U;
  const WordLanes normal = (exponent + 112U) << 23 | fraction << 13, infinite = 0x7F800000U | fraction << 13;
  const WordLanes tiny = (WordLanes)(__builtin_convertvector(fraction, FloatLanes) * 0x1p-24F);
  const WordLanes magnitude = exponent == 0U ? tiny : (exponent == 31U ? infinite : normal);
  return {(FloatLanes)(sign | magnitude)};
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
inline F32 widen_bf16(FourShorts b) { return {(FloatLanes)(__builtin_convertvector(b, WordLanes) << 16)}; }
inline F32 f32_load_f16_n(const uint16_t* p, int n) { return widen_f16(lanes_at_n<FourShorts>(p, n)); }
inline F32 f32_load_bf16_n(const uint16_t* p, int n) { return widen_bf16(lanes_at_n<FourShorts>(p, n)); }
inline F32 f32_load_f16(const uint16_t* p) { return widen_f16(lanes_at<FourShorts>(p)); }
inline F32 f32_load_bf16(const uint16_t* p) { return widen_bf16(lanes_at<FourShorts>(p)); }
inline void f32_store_f16_n(uint16_t* p, F32 a, int n) {
  for (int i = 0; i < n; ++i) p[i] = narrow_f16(a.v[i]);
}

inline U8 u8_load(const uint8_t* p) { return {lanes_at<ByteLanes>(p)}; }
inline U8 u8_mask(U8 a, int byte) { return {a.v & (uint8_t)byte}; }
inline U8 u8_or(U8 a, U8 b) { return {a.v | b.v}; }
/// Shifts bytes right or left and masks them; the mask must drop the bits that came from a neighbour.
template <int N>
inline U8 u8_shr(U8 a, int byte) {
  return {(a.v >> N) & (uint8_t)byte};
}
template <int N>
inline U8 u8_shl(U8 a, int byte) {
  return {(a.v << N) & (uint8_t)byte};
}
/// table[index] in each byte, for indexes 0 .. 15.
inline U8 u8_lookup(const uint8_t* table, U8 index) {
  U8 found{};
  for (int i = 0; i < kLanes * 4; ++i) found.v[i] = table[index.v[i]];
  return found;
}
/// The first base-3 digit (0, 1, 2) of a TQ1_0 byte, times 2^kTritShift; u8_triple leaves the others. The digit is
/// 3 x >> 8, one more from 86 and from 171 on.
inline constexpr int kTritShift = 0;
inline U8 u8_trit(U8 x) {
  const uint8_t one = 1;
  return {((ByteLanes)(x.v > (uint8_t)85) & one) + ((ByteLanes)(x.v > (uint8_t)170) & one)};
}
inline U8 u8_triple(U8 x) { return {x.v + x.v + x.v}; }
/// The four bytes at p, in every lane.
inline U8 u8_broadcast4(const int8_t* p) {
  uint32_t word;
  __builtin_memcpy(&word, p, sizeof word);
  return {(ByteLanes)WordLanes{word, word, word, word}};
}
/// acc + both int16 of each lane. It wraps: where activations are not finite, acc may be any number.
inline IntLanes add_halves(IntLanes acc, ShortLanes products) {
  const auto both = (IntLanes)products;
  return wrapping_sum(wrapping_sum(acc, (IntLanes)((WordLanes)both << 16) >> 16), both >> 16);
}
/// Every second byte of v as a number, from the first byte on; below, from the second byte on.
inline ShortLanes first_bytes(U8 v) { return (ShortLanes)((ShortLanes)v.v << 8) >> 8; }
inline ShortLanes second_bytes(U8 v) { return (ShortLanes)v.v >> 8; }
inline ShortLanes first_bytes_unsigned(U8 v) { return (ShortLanes)v.v & (int16_t)255; }
inline ShortLanes second_bytes_unsigned(U8 v) { return second_bytes(v) & (int16_t)255; }
/// acc + the four products of each lane; w unsigned, a signed. A product fits in 16 bits.
inline I32 dot_small(I32 acc, U8 w, U8 a) {
  const IntLanes sum = add_halves(acc.v, first_bytes_unsigned(w) * first_bytes(a));
  return {add_halves(sum, second_bytes_unsigned(w) * second_bytes(a))};
}
/// Whether any byte may be w in add_products(), not only those up to 127; small_sum_quads holds for such bytes.
inline constexpr bool kAnyByte = true;
/// acc + the four products of each lane for any byte w = weight + 128. With a kWideBias of 128 the products are those
/// of w itself, and the caller subtracts 128 times the sum of a; with 0 they are those of the weight.
inline I32 dot_wide(I32 acc, U8 w, U8 a) {
  const int16_t bias = 128;
  const IntLanes sum = add_halves(acc.v, (first_bytes_unsigned(w) - bias) * first_bytes(a));
  return {add_halves(sum, (second_bytes_unsigned(w) - bias) * second_bytes(a))};
}

/// Two int16 in each lane, the operands of dot_pairs().
struct I16 {
  ShortLanes v;
};
inline I16 i16_load(const int16_t* p) { return {lanes_at<ShortLanes>(p)}; }
/// 2 * kLanes bytes, each widened to an int16.
inline I16 i16_widen(const int8_t* p) { return {__builtin_convertvector(lanes_at<EightBytes>(p), ShortLanes)}; }
/// The pair at p, in every lane.
inline I16 i16_broadcast2(const int16_t* p) {
  int32_t pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return {(ShortLanes)i32_set(pair).v};
}
/// Each lane as two int16, the lower one with its sign changed.
inline I16 i16_pair_of(I32 a) { return {(ShortLanes)(a.v ^ 0x8000)}; }
/// acc + the two products of each lane. It wraps, as in the instructions of other levels: a lane after a row's last
/// token multiplies any memory before it is masked.
inline I32 dot_pairs(I32 acc, I16 a, I16 b) {
  const auto x = (IntLanes)a.v, y = (IntLanes)b.v;
  const auto low = [](IntLanes pair) { return (IntLanes)((WordLanes)pair << 16) >> 16; };
  return {wrapping_sum(wrapping_sum(acc.v, low(x) * low(y)), (x >> 16) * (y >> 16))};
}
/// Keeps a sum in a register once the loop that made it is left. Otherwise GCC 12 moves all sums from register to
/// register in each round of that loop, for the sake of later code.
inline void keep_in_register(I32&) {}
inline void keep_in_register(F32&) {}
/// Hides from the compiler that v is unchanged, so that it computes again what depends on v, but not before `behind` is
/// computed. Does nothing where a product and its sum are one instruction.
inline void make_unknown(U8& v, I32& behind) { asm("" : "+m"(v), "+m"(behind)); }

/// Prefetches a line of memory into the caches; below, into the second-level cache only.
inline void prefetch(const void*) {}
inline void prefetch_far(const void*) {}

}  // namespace
}  // namespace octavo

#include "kernels/isa/small_sum_int32.h"
