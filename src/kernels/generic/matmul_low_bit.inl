// Products of 1-bit and ternary weights: a byte's fields are multiplied where they lie (docs/kernels_low_bit.md).
//
// A byte of a panel holds the fields of 8 (Q1_0), 4 (Q2_0, TQ2_0) or 5 (TQ1_0) quads. Fields are not moved to the
// bottom of the byte: the sum of (v & (1 << j)) times activation is 2^j times the sum of the selected activations. So a
// quad costs one AND. The factor, common to 32 weights, is taken out of their sums by one shift, exactly. A weight is d
// (field - 1), of Q1_0 d (2 bit - 1): the sum of the activations is taken away from their sum, in integers. Within a
// block of weights with the scale d floats are summed first, and d comes once. Integers are exact in any order, so
// kernels for few and for many rows may differ in it; floats have one order.
#pragma once

#include "kernels/generic/weights.inl"
#include "kernels/kernels.h"

namespace octavo {
namespace {

/// A block of weights of kLanes outputs, and the activations that it meets.
template <int R>
struct LowBitBlock {
  const uint8_t* quads;
  const ActTile<R>* x;
  const uint8_t* ahead;  // memory to prefetch while the block is read
  bool asks;

  /// Prefetches vector `vector` of what lies ahead. Always inlined, like prefetch(): a call of it would be dropped.
  __attribute__((always_inline)) void ask(int vector) const {
    const uint8_t* line = ahead + vector * 64 / kPanelVectors;
    if (asks && kPanelVectors > 1) prefetch_far(line);  // a whole panel is more than the L1 cache holds
    if (asks && kPanelVectors == 1) prefetch(line);
  }
  U8 load(int vector) const { return u8_load(quads + vector * 64); }
};

/// The sums of products of R rows.
template <int R>
struct LowBitSums {
  I32 start[R];
  SmallSum sum[R];

  LowBitSums() {
    for (int r = 0; r < R; ++r) sum[r] = small_sum_of(start[r] = i32_zero());
  }
  /// Adds the products of fields w with the activations of quad `quad`.
  void add(U8 w, const ActTile<R>& x, int quad) {
    for (int r = 0; r < R; ++r) sum[r] = keep_chain<R>(add_products(sum[r], w, u8_broadcast4(&x.q[r][quad * kQuad])));
  }
  I32 total(int r) const { return small_sum_end(sum[r], start[r]); }
  /// Adds the sums of `other`, times 2^Shift.
  template <int Shift>
  void add_shifted(const LowBitSums& other) {
    for (int r = 0; r < R; ++r) {
      start[r] = i32_add(this->total(r), i32_shl<Shift>(other.total(r)));
      sum[r] = small_sum_of(start[r]);
    }
  }
};

/// Selects the fields `Mask` of v. If sums do not take any byte, fields in the high half are moved down by 4.
template <int Mask>
inline U8 fields(U8 v) {
  if constexpr (kAnyByte || Mask < 16) return u8_mask(v, Mask);
  return u8_shr<4>(v, Mask >> 4);
}
/// The shift of sums of fields from bit `bit` on.
constexpr int field_shift(int bit) { return kAnyByte || bit < 4 ? bit : bit - 4; }

// LowBit<T>::field is weight k of a row of a block; the row's words of four bytes begin at `word`, 64 bytes apart.
//
// LowBit<T>::block calls finish<G>(dot) with the fields that meet each activation block G times the rows; a Q1_0 field
// is twice the bit. All of it is inlined by name: the unit has outgrown the compiler's budget for that, and a call
// keeps sums in memory.

template <DType T>
struct LowBit;

// Fields 2 G and 2 G + 1, of Bits bits each, of four vectors meet activation block G: the fields of vector i meet its
// quads 2 i and 2 i + 1. The sums of the lower field are made as large as those of the higher one, once.
template <int Bits>
struct PairedFields {
  static constexpr int kMask = (1 << Bits) - 1;
  static constexpr int kTwice = Bits == 1 ? 1 : 0;

  template <int R, class Finish>
  __attribute__((always_inline)) static void block(const LowBitBlock<R>& b, const Finish& finish) {
    for (int i = 0; i < 4; ++i) b.ask(i);
    for_constants<4 / Bits>([&]<int G>() {
      constexpr int kLow = 2 * Bits * G, kHigh = kLow + Bits;  // where the fields lie
      LowBitSums<R> low, sum;
      if constexpr (R <= 2) {  // each row has two chains of sums, or products would wait for each other
        for (int i = 0; i < 4; ++i) {
          low.add(fields<(kMask << kLow)>(b.load(i)), b.x[G], 2 * i);
          sum.add(fields<(kMask << kHigh)>(b.load(i)), b.x[G], 2 * i + 1);
        }
        sum.template add_shifted<Bits>(low);
      } else {
        for (int i = 0; i < 4; ++i) low.add(fields<(kMask << kLow)>(b.load(i)), b.x[G], 2 * i);
        sum.template add_shifted<Bits>(low);
        for (int i = 0; i < 4; ++i) sum.add(fields<(kMask << kHigh)>(b.load(i)), b.x[G], 2 * i + 1);
      }
      I32 dot[R];
      for (int r = 0; r < R; ++r) dot[r] = i32_sar<field_shift(kHigh) - kTwice>(sum.total(r));
      finish.template operator()<G>(dot);
    });
  }

  static int field(const uint8_t* word, int k) {
    const int quad = k % 32 / kQuad, place = 2 * (k / 32) + quad % 2;
    return (word[quad / 2 * 64 + k % kQuad] >> Bits * place & kMask) << kTwice;
  }
};

template <>
struct LowBit<DType::kQ1_0> : PairedFields<1> {};
template <>
struct LowBit<DType::kQ2_0> : PairedFields<2> {};

// Bits 2 (G % 4) and up of eight vectors meet activation block G: the bits of vector i meet its quad i. Blocks 4 .. 7
// meet the next eight vectors.
template <>
struct LowBit<DType::kTQ2_0> {
  template <int R, class Finish>
  __attribute__((always_inline)) static void block(const LowBitBlock<R>& b, const Finish& finish) {
    for_constants<8>([&]<int G>() {
      b.ask(2 * G);
      b.ask(2 * G + 1);
      LowBitSums<R> sum;
      for (int i = 0; i < 8; ++i) sum.add(fields<(3 << 2 * (G % 4))>(b.load(G / 4 * 8 + i)), b.x[G], i);
      I32 dot[R];
      for (int r = 0; r < R; ++r) dot[r] = i32_sar<field_shift(2 * (G % 4))>(sum.total(r));
      finish.template operator()<G>(dot);
    });
  }

  static int field(const uint8_t* word, int k) {
    return word[(k / 128 * 8 + k % 32 / kQuad) * 64 + k % kQuad] >> k % 128 / 32 * 2 & 3;
  }
};

// A byte x is a fraction of 256 in base 3: the next digit is 3 x >> 8, the rest 3 x & 255. Digit G of vectors 0 .. 7
// meets activation block G < 5: quad i meets vector i. Blocks 5, 6 and 7 take two digits each of vectors 8 .. 11: quads
// i and i + 4 meet vector 8 + i. As these have only a fifth digit left, quads 4 .. 7 of block 7 meet vector 12.
template <>
struct LowBit<DType::kTQ1_0> {
  // A digit times 256 is 3 x less the rest. If sums take any byte, two products are, for few rows, less work than
  // finding the digit.
  template <int R>
  static constexpr bool kWithoutDigits = kAnyByte && R <= 2;

  template <int R>
  struct Sums {
    LowBitSums<R> sum, rest;

    /// Takes a digit from x and adds its product with quad `quad` of activation block a.
    void add(U8& x, const ActTile<R>& a, int quad) {
      sum.add(kWithoutDigits<R> ? x : u8_trit(x), a, quad);
      x = u8_triple(x);
      if constexpr (kWithoutDigits<R>) rest.add(x, a, quad);
    }
    template <int G, class Finish>
    void end(const Finish& finish) const {
      I32 dot[R];
      for (int r = 0; r < R; ++r) {
        const I32 s = sum.total(r);
        dot[r] =
            kWithoutDigits<R> ? i32_sar<8>(i32_sub(i32_add(s, i32_add(s, s)), rest.total(r))) : i32_sar<kTritShift>(s);
      }
      finish.template operator()<G>(dot);
    }
  };

  template <int R, class Finish>
  __attribute__((always_inline)) static void block(const LowBitBlock<R>& b, const Finish& finish) {
    U8 x[8];
    for (int i = 0; i < 8; ++i) {
      b.ask(i);
      x[i] = b.load(i);
    }
    for_constants<5>([&]<int G>() {
      Sums<R> sums;
      for (int i = 0; i < 8; ++i) sums.add(x[i], b.x[G], i);
      sums.template end<G>(finish);
    });
    last_act_blocks(b, finish);
  }

  template <int R, class Finish>
  __attribute__((always_inline)) static void last_act_blocks(const LowBitBlock<R>& b, const Finish& finish) {
    U8 x[5];
    for (int i = 0; i < 5; ++i) {
      b.ask(8 + i);
      x[i] = b.load(8 + i);
    }
    for_constants<3>([&]<int G>() {
      Sums<R> sums;
      for (int i = 0; i < 4; ++i) sums.add(x[i], b.x[5 + G], i);
      for (int i = 0; i < 4; ++i) sums.add(x[G < 2 ? i : 4], b.x[5 + G], 4 + i);
      sums.template end<5 + G>(finish);
    });
  }

  static int field(const uint8_t* word, int k) {
    const int quad = k / kQuad, rest = quad - 40;
    const int vector = quad < 40 ? quad % 8 : quad < 60 ? 8 + rest % 4 : 12;
    const int digit = quad < 40 ? quad / 8 : quad < 60 ? rest / 4 : quad - 60;
    unsigned x = word[vector * 64 + k % kQuad];
    for (int i = 0; i < digit; ++i) x = 3 * x & 255;
    return (int)(3 * x >> 8);
  }
};

/// Computes sum[r] = the block's weights, for a scale of one, times row r.
template <DType T, int R>
__attribute__((always_inline)) inline void dot_block(const LowBitBlock<R>& b, F32 (&sum)[R]) {
  LowBit<T>::block(b, [&]<int G>(const I32(&dot)[R]) __attribute__((always_inline)) {
    for (int r = 0; r < R; ++r) {
      const F32 scale = f32_set(b.x[G].scale[r]);
      const F32 v = i32_to_f32(i32_add(dot[r], i32_set(b.x[G].minus_sum32[r])));
      sum[r] = G == 0 ? f32_mul(v, scale) : f32_fma(v, scale, sum[r]);
    }
  });
}

/// Computes acc[r] = kLanes outputs of half h of a panel, times row r.
template <DType T, int R, bool Prefetch>
inline void dot_tile_low_bit(const WeightStream& stream, int64_t cols, int h, const ActTile<R>* x, F32 (&acc)[R]) {
  constexpr bool kAsks =
      Prefetch && R < kSmallTile;  // with four rows there is work enough for the processor to look ahead itself
  const auto ahead_of = [&](const uint8_t* at) { return stream.ahead<kPanelVectors>((size_t)(at - stream.panel), h); };
  for_blocks<T>(stream.panel, cols, [&](const uint8_t*, int b, const uint8_t* quads, const uint8_t* scales) {
    if (kAsks && b == 0) prefetch(ahead_of(scales));  // the unit's scales are one line
    F32 sum[R];
    dot_block<T, R>({quads + h * kRowBytes, x, ahead_of(quads), kAsks}, sum);
    const F32 d = half_field(scales, h);
    for (int r = 0; r < R; ++r) acc[r] = f32_fma(d, sum[r], acc[r]);
    x += packed_block(T).block / kActBlock;
  });
}

/// Decodes the weights of row `row` of a panel, one block of K, into y.
template <DType T>
inline void decode_low_bit_block(const uint8_t* quads, const uint8_t* scales, int row, float* y) {
  float d[kLanes];
  f32_store(d, half_field(scales, row / kLanes));
  for (int k = 0; k < packed_block(T).block; ++k)
    y[k] = d[row % kLanes] * (float)(LowBit<T>::field(quads + row * kQuad, k) - 1);
}

}  // namespace
}  // namespace octavo
