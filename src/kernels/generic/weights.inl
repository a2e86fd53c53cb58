// Bytes and scales in registers, from the packed panels of each quantized type.
//
// Weights<T>::quad<J> gives the bytes of quad J of 32 weights of kLanes rows (eight quads), at most kMaxByte each;
// Weights<T>::scales gives, for each sub-block of kSubBlock weights, `scale` and, for types that have one (kHasMin),
// `minimum`, such that a weight is scale * (byte - kZero) + minimum. kZero is taken away in integers. Types whose bytes
// take all eight bits are wide, a weight being scale * (byte - 128): dot_wide is for them.
#pragma once

#include "kernels/generic/weight_stream.inl"
#include "kernels/packed_layout.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

constexpr int kRowBytes = kQuad * kLanes;  // the bytes of one quad of kLanes rows

template <int Shift>
inline U8 move_bits(U8 v, int mask) {
  if constexpr (Shift > 0) return u8_shl<Shift>(v, mask);
  if constexpr (Shift < 0) return u8_shr<-Shift>(v, mask);
  return u8_mask(v, mask);
}

// The planes of a block: quad J of the 32 weights of number g within it. `p` is the plane's first byte for these rows.

template <int J>
inline U8 byte_quad(const uint8_t* p, int g) {
  return u8_load(p + g * 512 + J * 64);
}
template <int J>
inline U8 nibble_quad(const uint8_t* p, int g) {
  return move_bits < J<4 ? 0 : -4>(u8_load(p + g * 256 + J % 4 * 64), 15);
}
// A plane has two bits per weight, placed at bit `To` of the byte.
template <int J, int To>
inline U8 pair_quad(const uint8_t* p, int g) {
  return move_bits<To - 2 * (J % 4)>(u8_load(p + g * 128 + J / 4 * 64), 3 << To);
}
// A plane has one bit per weight, placed at bit `To` of the byte.
template <int J, int To>
inline U8 bit_quad(const uint8_t* p, int g) {
  return move_bits<To - J>(u8_load(p + g * 64), 1 << To);
}

inline F32 half_field(const uint8_t* scales, int h) { return f32_load_f16((const uint16_t*)scales + h * kLanes); }
inline F32 times(F32 a, float b) { return f32_mul(a, f32_set(b)); }
inline I32 byte_field(const uint8_t* scales, int field, int h) { return i32_load_u8(scales + field * 16 + h * kLanes); }
inline I32 low_bits(I32 a, int mask) { return i32_and(a, i32_set(mask)); }

/// Whether a type's integer scales multiply 16-bit sums of products directly, and the block's float comes after them.
constexpr bool has_word_scales(DType type) {
  return kWordSums && (type == DType::kQ2_K || type == DType::kQ3_K || type == DType::kQ4_K || type == DType::kQ5_K ||
                       type == DType::kQ6_K);
}

/// Calls f with 0 .. N - 1 as constants.
template <int N, int I = 0, class F>
__attribute__((always_inline)) inline void for_constants(const F& f) {
  if constexpr (I < N) {
    f.template operator()<I>();
    for_constants<N, I + 1>(f);
  }
}

template <DType T>
struct Weights;

// Types with w = d (q - Zero), q at most MaxByte, 32 to a block.
template <int Zero, int MaxByte>
struct OneScale {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = Zero;
  static constexpr int kMaxByte = MaxByte;
  static void scales(const uint8_t* s, int h, F32* scale, F32*) { scale[0] = half_field(s, h); }
};
// Q4_1: w = u (s (q - 8) + 8 t), 32 to a block (packed_layout.h). The sum of 32 products with q - 8 has 16 bits.
struct IntegerScales {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = false;
  static constexpr int kMaxByte = 15;
  /// Loads pairs (s, t).
  static I16 pairs(const uint8_t* s, int h) { return i16_load((const int16_t*)s + 2 * h * kLanes); }
};
// Types with w = d q + m, q at most MaxByte, 32 to a block.
template <int MaxByte>
struct ScaleAndMin {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = true;
  static constexpr int kZero = 0;
  static constexpr int kMaxByte = MaxByte;
  static void scales(const uint8_t* s, int h, F32* scale, F32* minimum) {
    scale[0] = half_field(s, h);
    minimum[0] = half_field(s + 32, h);
  }
};
// Types with w = d (byte - 128), 32 to a block.
struct WideScale {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = true;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = 0;
  static void scales(const uint8_t* s, int h, F32* scale, F32*) { scale[0] = half_field(s, h); }
};

template <>
struct Weights<DType::kQ4_0> : OneScale<8, 15> {
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return nibble_quad<J>(p, g);
  }
};
template <>
struct Weights<DType::kQ4_1> : IntegerScales {
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return nibble_quad<J>(p, g);
  }
};

template <int J>
inline U8 fifth_bit_quad(const uint8_t* p, const uint8_t* high, int g) {
  return u8_or(nibble_quad<J>(p, g), bit_quad<J, 4>(high, g));
}
template <>
struct Weights<DType::kQ5_0> : OneScale<16, 31> {
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return fifth_bit_quad<J>(p, p + 256, g);
  }
};
template <>
struct Weights<DType::kQ5_1> : ScaleAndMin<31> {
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return fifth_bit_quad<J>(p, p + 256, g);
  }
};
template <>
struct Weights<DType::kQ8_0> : WideScale {
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return byte_quad<J>(p, g);
  }
};

// The non-linear values of IQ4_NL and IQ4_XS plus 128.
alignas(16) inline constexpr uint8_t kIq4Bytes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                      129, 141, 153, 166, 181, 197, 217, 241};
template <>
struct Weights<DType::kIQ4_NL> : WideScale {
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return u8_lookup(kIq4Bytes, nibble_quad<J>(p, g));
  }
};
template <>
struct Weights<DType::kIQ4_XS> {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = true;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = 0;
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return u8_lookup(kIq4Bytes, nibble_quad<J>(p, g));
  }
  // The fields are d, 4 of low nibbles (two sub-blocks each), 2 of high pairs (four sub-blocks each).
  static void scales(const uint8_t* s, int h, F32* scale, F32*) {
    const F32 d = half_field(s, h);
    for (int i = 0; i < 4; ++i) {
      const I32 low = byte_field(s + 32, i, h);
      const I32 high = byte_field(s + 96, i / 2, h);
      const I32 h0 = i % 2 == 0 ? i32_shl<4>(low_bits(high, 3)) : i32_and(high, i32_set(0x30));
      const I32 h1 = i % 2 == 0 ? i32_shl<2>(low_bits(high, 12)) : i32_shr<2>(i32_and(high, i32_set(0xC0)));
      const I32 s0 = i32_add(i32_or(low_bits(low, 15), h0), i32_set(-32));
      const I32 s1 = i32_add(i32_or(i32_shr<4>(low), h1), i32_set(-32));
      scale[2 * i] = f32_mul(d, i32_to_f32(s0));
      scale[2 * i + 1] = f32_mul(d, i32_to_f32(s1));
    }
  }
};

// The E2M1 values, doubled and plus 16; the scale is 2^(e - 128).
alignas(16) inline constexpr uint8_t kMxfp4Bytes[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
template <>
struct Weights<DType::kMXFP4> {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = 16;
  static constexpr int kMaxByte = 28;
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return u8_lookup(kMxfp4Bytes, nibble_quad<J>(p, g));
  }
  // The scale is the product of two normal numbers, so that the smallest scales are right as well.
  static void scales(const uint8_t* s, int h, F32* scale, F32*) {
    const I32 e = byte_field(s, 0, h);
    const I32 half = i32_shr<1>(e);
    const I32 rest = i32_add(half, low_bits(e, 1));
    const F32 a = i32_as_f32(i32_shl<23>(i32_add(half, i32_set(63))));
    const F32 b = i32_as_f32(i32_shl<23>(i32_add(rest, i32_set(63))));
    scale[0] = f32_mul(a, b);
  }
};

template <>
struct Weights<DType::kNVFP4> {
  static constexpr int kSubBlock = 16;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = 16;
  static constexpr int kMaxByte = 28;
  // Vector i has quads first and first + 2, where first is 0, 1, 4, 5.
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return u8_lookup(kMxfp4Bytes, nibble_quad<J / 4 * 2 + J % 2 + (J % 4 < 2 ? 0 : 4)>(p, g));
  }
  // Half an E4M3 number: as the upper bits of a float it has the right mantissa and, after a shift of its range, the
  // right exponent; but the smallest numbers have no leading 1, so one is added and then subtracted.
  static void scales(const uint8_t* s, int h, F32* scale, F32*) {
    const F32 least = f32_set(0x1p-7F);
    for (int i = 0; i < 4; ++i) {
      const I32 bits = i32_shl<20>(low_bits(byte_field(s, i, h), 127));
      const F32 x = i32_as_f32(i32_add(bits, i32_set(119 << 23)));
      scale[i] = f32_select(f32_less(x, least), f32_sub(f32_add(x, x), least), x);
    }
  }
};

// For blocks of 256, Weights<T>::integers calls take(i, scale, minimum) with the integers of sub-block i.

/// The factor of a block's minimums, which are subtracted.
inline F32 minimum_factor(const uint8_t* s, int h) { return times(half_field(s + 32, h), -1.0F); }

template <class W>
inline void k_scales(const uint8_t* s, int h, F32* scale, F32* minimum) {
  const F32 d = half_field(s, h);
  const F32 dmin = W::kHasMin ? minimum_factor(s, h) : f32_zero();
  W::integers(s, h, [&](int i, I32 integer, I32 min) {
    scale[i] = f32_mul(d, i32_to_f32(integer));
    if constexpr (W::kHasMin) minimum[i] = f32_mul(dmin, i32_to_f32(min));
  });
}

template <>
struct Weights<DType::kQ2_K> {
  static constexpr int kSubBlock = 16;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = true;
  static constexpr int kZero = 0;
  static constexpr int kMaxByte = 3;
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return pair_quad<J, 0>(p, g);
  }
  // The fields are d, dmin, 16 of (scale, minimum) nibbles.
  static void integers(const uint8_t* s, int h, const auto& take) {
    for (int i = 0; i < 16; ++i) {
      const I32 both = byte_field(s + 64, i, h);
      take(i, low_bits(both, 15), i32_shr<4>(both));
    }
  }
  static void scales(const uint8_t* s, int h, F32* scale, F32* minimum) { k_scales<Weights>(s, h, scale, minimum); }
};
template <>
struct Weights<DType::kQ3_K> {
  static constexpr int kSubBlock = 16;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = 4;
  static constexpr int kMaxByte = 7;
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return u8_or(pair_quad<J, 0>(p, g), bit_quad<J, 2>(p + 1024, g));
  }
  // The fields are d, 8 of low nibbles (sub-blocks i and i + 8), 4 of high pairs (sub-blocks i, i + 4, i + 8, i + 12).
  static void integers(const uint8_t* s, int h, const auto& take) {
    for (int i = 0; i < 8; ++i) {
      const I32 low = byte_field(s + 32, i, h);
      const I32 high = byte_field(s + 160, i % 4, h);
      const I32 h0 = i < 4 ? i32_shl<4>(low_bits(high, 3)) : i32_shl<2>(low_bits(high, 12));
      const I32 h1 = i < 4 ? i32_and(high, i32_set(0x30)) : i32_shr<2>(i32_and(high, i32_set(0xC0)));
      take(i, i32_add(i32_or(low_bits(low, 15), h0), i32_set(-32)), i32_zero());
      take(i + 8, i32_add(i32_or(i32_shr<4>(low), h1), i32_set(-32)), i32_zero());
    }
  }
  static void scales(const uint8_t* s, int h, F32* scale, F32* minimum) { k_scales<Weights>(s, h, scale, minimum); }
};

// The fields are d, dmin, 8 of (scale, minimum) low nibbles, 4 of high pairs: for sub-blocks 2i, 2i + 1.
inline void k4_integers(const uint8_t* s, int h, const auto& take) {
  for (int i = 0; i < 8; ++i) {
    const I32 low = byte_field(s + 64, i, h);
    const I32 high = byte_field(s + 192, i / 2, h);
    const I32 hs = i % 2 == 0 ? i32_shl<4>(low_bits(high, 3)) : i32_and(high, i32_set(0x30));
    const I32 hm = i % 2 == 0 ? i32_shl<2>(low_bits(high, 12)) : i32_shr<2>(i32_and(high, i32_set(0xC0)));
    take(i, i32_or(low_bits(low, 15), hs), i32_or(i32_shr<4>(low), hm));
  }
}
template <>
struct Weights<DType::kQ4_K> {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = true;
  static constexpr int kZero = 0;
  static constexpr int kMaxByte = 15;
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return nibble_quad<J>(p, g);
  }
  static void integers(const uint8_t* s, int h, const auto& take) { k4_integers(s, h, take); }
  static void scales(const uint8_t* s, int h, F32* scale, F32* minimum) { k_scales<Weights>(s, h, scale, minimum); }
};
template <>
struct Weights<DType::kQ5_K> {
  static constexpr int kSubBlock = 32;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = true;
  static constexpr int kZero = 0;
  static constexpr int kMaxByte = 31;
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return fifth_bit_quad<J>(p, p + 2048, g);
  }
  static void integers(const uint8_t* s, int h, const auto& take) { k4_integers(s, h, take); }
  static void scales(const uint8_t* s, int h, F32* scale, F32* minimum) { k_scales<Weights>(s, h, scale, minimum); }
};
template <>
struct Weights<DType::kQ6_K> {
  static constexpr int kSubBlock = 16;
  static constexpr bool kWide = false;
  static constexpr bool kHasMin = false;
  static constexpr int kZero = 32;
  static constexpr int kMaxByte = 63;
  template <int J>
  static U8 quad(const uint8_t* p, int g) {
    return u8_or(nibble_quad<J>(p, g), pair_quad<J, 4>(p + 2048, g));
  }
  // The fields are d, 16 of signed scales.
  static void integers(const uint8_t* s, int h, const auto& take) {
    for (int i = 0; i < 16; ++i) take(i, i32_load_i8((const int8_t*)s + 32 + i * 16 + h * kLanes), i32_zero());
  }
  static void scales(const uint8_t* s, int h, F32* scale, F32* minimum) { k_scales<Weights>(s, h, scale, minimum); }
};

/// Loads the eight quads of 32 weights.
template <DType T>
inline void load_quads(const uint8_t* p, int g, U8 (&q)[8]) {
  for_constants<8>([&]<int J>() __attribute__((always_inline)) { q[J] = Weights<T>::template quad<J>(p, g); });
}

/// The number of sub-blocks in a weight block.
template <DType T>
constexpr int sub_blocks() {
  return packed_block(T).block / Weights<T>::kSubBlock;
}

}  // namespace
}  // namespace octavo
