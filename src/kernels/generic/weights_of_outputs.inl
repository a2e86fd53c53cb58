// Weights in bf16 from panels whose outputs' columns lie together (output_order.h): 32 columns of an output are one
// vector, so that a block's scale is the same in all of it. Word 2 i of the vector is column i, word 2 i + 1 column 16
// + i, as in the bf16 form of activations (act_tiles.h).
//
// A weight is the upper half of the float scale (number - zero) + minimum, which is cut and not rounded; to make up for
// it scales and minimums are larger by kMore. Numbers of 4 and 5 bits are looked up in a table of an output's values,
// larger ones become floats by bits: behind the 1 of a power of two they are its upper bits of a float.
#pragma once

#include "kernels/generic/weights.inl"
#include "kernels/output_order.h"

namespace octavo {
namespace {

static_assert(kLanes == kPanelRows, "scales of a panel are one vector");

/// A cut takes half a last place on the average, 0.72 / 256 of a weight. In as few bits as this factor has, products
/// with a block's half are exact.
inline constexpr float kMore = 1 + 3.0F / 1024;
/// Outputs that are unpacked at a time.
inline constexpr int kUnitOutputs = 4, kPanelUnits = kPanelRows / kUnitOutputs;
/// The bytes of 32 columns of an output and of a panel, as bf16.
inline constexpr int kOutputBytes = 64, kUnpackedBytes = kPanelRows * kOutputBytes;

/// What a number of a type is worth before its scale.
template <DType T>
constexpr float value_of(int number) {
  if constexpr (T == DType::kIQ4_NL || T == DType::kIQ4_XS) return (float)(kIq4Bytes[number] - 128);
  if constexpr (T == DType::kMXFP4) return (float)(kMxfp4Bytes[number] - 16);
  if constexpr (T == DType::kQ8_0) return (float)(number - 128);
  if constexpr (T == DType::kQ4_0) return (float)(number - 8);
  if constexpr (T == DType::kQ5_0) return (float)(number - 16);
  if constexpr (T == DType::kQ6_K) return (float)(number - 32);
  return (float)number;
}
template <DType T>
constexpr bool has_minimum() {
  return T == DType::kQ4_1 || T == DType::kQ5_1 || T == DType::kQ4_K || T == DType::kQ5_K;
}
/// The columns that share a scale: 16 or 32.
template <DType T>
constexpr int columns_of_scale() {
  return T == DType::kQ6_K ? 16 : 32;
}
template <DType T>
constexpr int scales_of_block() {
  return packed_block(T).block / columns_of_scale<T>();
}

/// A block's scales and minimums, of each output of a panel.
template <DType T>
struct OutputScales {
  alignas(64) float scale[scales_of_block<T>()][kPanelRows];
  alignas(64) float minimum[scales_of_block<T>()][kPanelRows];  // of numbers from 64 or 256 on: what takes these away

  /// As the file has them.
  OCTAVO_KERNEL_PART void decode(const uint8_t* scales) {
    F32 s[scales_of_block<T>()], m[scales_of_block<T>()];
    vectors(scales, s, m);
    for (int i = 0; i < scales_of_block<T>(); ++i) {
      f32_store(scale[i], s[i]);
      if constexpr (has_minimum<T>()) f32_store(minimum[i], m[i]);
    }
  }
  /// For numbers of 8 and 6 bits the factors end with two zeros: three times a power of two times them is exact, and
  /// the weight zero is zero.
  OCTAVO_KERNEL_PART void prepare(const uint8_t* scales) {
    F32 s[scales_of_block<T>()], m[scales_of_block<T>()];
    vectors(scales, s, m);
    for (int i = 0; i < scales_of_block<T>(); ++i) {
      F32 more = f32_mul(s[i], f32_set(kMore));
      if constexpr (T == DType::kQ8_0 || T == DType::kQ6_K) {
        more = i32_as_f32(i32_and(f32_as_i32(more), i32_set(~3)));
        f32_store(minimum[i], f32_mul(more, f32_set(T == DType::kQ8_0 ? -384.0F : -96.0F)));
      }
      f32_store(scale[i], more);
      if constexpr (has_minimum<T>()) f32_store(minimum[i], f32_mul(m[i], f32_set(kMore)));
    }
  }

 private:
  static OCTAVO_KERNEL_PART void vectors(const uint8_t* scales, F32* scale, F32* minimum) {
    if constexpr (T == DType::kQ4_1) {
      scale[0] = half_field(scales, 0);
      minimum[0] = half_field(scales + 32, 0);
    } else {
      Weights<T>::scales(scales, 0, scale, minimum);
    }
  }
};

/// How a type's numbers become weights.
template <DType T>
struct Unpacking {
  static constexpr OutputPlanes kPlanes = output_planes(T);
  static constexpr bool kByTable = kPlanes.low == 4 && kPlanes.high < 2;
  static constexpr int kLowRow = 16 / kPlanes.low;  // outputs of a row of words
  static constexpr int kHighRow = kPlanes.high == 0 ? 1 : 16 / kPlanes.high;
  // Where the number begins: in a byte of an index of the table, whose values are halves of floats or words, or in a
  // float, in which it ends below the exponent.
  static constexpr int kTo = !kByTable ? 23 - kPlanes.low - kPlanes.high : kPlanes.high == 0 ? 2 : 1;
};

struct Bytes64 {
  alignas(64) uint8_t byte[64];
};
/// The starts of the fields of output `Output` of a row of words, moved up by `To` bits: for the bytes of each float of
/// columns, the first (Half 0) or the second ones (Half 1) of the pairs; or else for both bytes of each column's word.
template <int Bits, int Output, int To, bool ByFloat, int Half>
constexpr Bytes64 field_starts() {
  Bytes64 out{};
  for (int i = 0; i < 64; ++i) {
    const int pair = i / 4 % 2, column = ByFloat ? Half : i / 2 % 2, up = ByFloat ? To - i % 4 * 8 : To;
    const int field = Bits >= 4 ? 2 * Bits * Output + Bits * column : 16 * column + Bits * Output;
    out.byte[i] = (uint8_t)((32 * pair + field - up) & 63);
  }
  return out;
}
template <int Bits, int Output, int To, bool ByFloat, int Half>
inline constexpr Bytes64 kFieldStarts = field_starts<Bits, Output, To, ByFloat, Half>();

struct Floats16 {
  alignas(64) float number[16];
};
template <DType T, int First, int Step>
constexpr Floats16 values_from() {
  Floats16 out{};
  for (int i = 0; i < 16; ++i) out.number[i] = value_of<T>(First + Step * i);
  return out;
}
/// What numbers First, First + Step and so on are worth.
template <DType T, int First, int Step>
inline constexpr Floats16 kValues = values_from<T, First, Step>();

/// The upper halves of two vectors of floats as words: those of `first` in the even ones.
OCTAVO_KERNEL_PART U8 upper_halves(F32 first, F32 second) {
  return i32_and_or(f32_as_i32(second), i32_set((int32_t)0xFFFF0000), i32_shr<16>(f32_as_i32(first)));
}

/// The fields of plane `Bits` wide that an output's columns have.
template <int Bits, int Output, int To, bool ByFloat, int Half = 0>
OCTAVO_KERNEL_PART U8 fields(const uint8_t* plane) {
  constexpr int kRow = 16 / Bits;
  return u8_fields(u8_load(kFieldStarts<Bits, Output % kRow, To, ByFloat, Half>.byte),
                   u8_load(plane + Output / kRow * 64));
}

/// The values of 16 numbers of an output, in its scale.
template <DType T>
OCTAVO_KERNEL_PART F32 scaled(F32 values, const OutputScales<T>& scales, int part, int output) {
  const F32 scale = f32_set(scales.scale[part][output]);
  if constexpr (has_minimum<T>()) return f32_fma(values, scale, f32_set(scales.minimum[part][output]));
  return f32_mul(values, scale);
}

/// 32 columns of an output, of a type with 16 values: in the table these are the upper halves of 16 floats, bytes 4 q +
/// 2 and 4 q + 3.
template <DType T, int Output>
OCTAVO_KERNEL_PART U8 from_16_values(const uint8_t* low, const OutputScales<T>& scales, int part) {
  const U8 numbers = fields<4, Output, Unpacking<T>::kTo, false>(low);
  const U8 index = i32_and_or(numbers, i32_set(0x3C3C3C3C), i32_set(0x03020302));
  return u8_pick(f32_as_i32(scaled<T>(f32_load(kValues<T, 0, 1>.number), scales, part, Output)), index);
}

/// The same of a type with 32 values, which are the words of the table: bytes 2 q and 2 q + 1.
template <DType T, int Output>
OCTAVO_KERNEL_PART U8 from_32_values(const uint8_t* low, const uint8_t* high, const OutputScales<T>& scales, int part) {
  constexpr int kTo = Unpacking<T>::kTo;
  const U8 table = upper_halves(scaled<T>(f32_load(kValues<T, 0, 2>.number), scales, part, Output),
                                scaled<T>(f32_load(kValues<T, 1, 2>.number), scales, part, Output));
  const U8 numbers = i32_and_or(fields<4, Output, kTo, false>(low), i32_set(0x1E1E1E1E), i32_set(0x01000100));
  return u8_pick(table, i32_and_or(fields<1, Output, kTo + 4, false>(high), i32_set(0x20202020), numbers));
}

/// The first (Half 0) or second columns of an output's pairs as floats, of a type with more values.
template <DType T, int Output, int Half>
OCTAVO_KERNEL_PART F32 from_bits(const uint8_t* low, const uint8_t* high, const OutputScales<T>& scales, int part) {
  using Kind = Unpacking<T>;
  constexpr int kTo = Kind::kTo, kBits = Kind::kPlanes.low + Kind::kPlanes.high;
  constexpr int32_t kNumber = ((1 << kBits) - 1) << kTo, kPower = (127 + kBits) << 23;
  U8 number = fields<Kind::kPlanes.low, Output, kTo, true, Half>(low);
  if constexpr (Kind::kPlanes.high > 0)
    number = i32_choose(i32_set(15 << kTo), number, fields<Kind::kPlanes.high, Output, kTo + 4, true, Half>(high));
  number = i32_and_or(number, i32_set(kNumber), i32_set(kPower));  // a power of two plus the number
  const int s = columns_of_scale<T>() == 16 ? 2 * part + Half : part;
  return f32_fma(i32_as_f32(number), f32_set(scales.scale[s][Output]), f32_set(scales.minimum[s][Output]));
}

/// Unpacks unit U, four outputs, of part `part` of a block's columns.
template <DType T, int U>
OCTAVO_KERNEL_PART void unpack_unit(const uint8_t* quads, int part, const OutputScales<T>& scales, uint8_t* out) {
  constexpr OutputPlanes kPlanes = Unpacking<T>::kPlanes;
  const uint8_t* low = quads + part * plane_bytes(kPlanes.low);
  const uint8_t* high = quads + high_plane(T) + part * plane_bytes(kPlanes.high);
  for_constants<kUnitOutputs>([&]<int I>() __attribute__((always_inline)) {
    constexpr int kOutput = U * kUnitOutputs + I;
    U8 weights;
    if constexpr (!Unpacking<T>::kByTable) {
      weights = upper_halves(from_bits<T, kOutput, 0>(low, high, scales, part),
                             from_bits<T, kOutput, 1>(low, high, scales, part));
    } else if constexpr (kPlanes.high == 0) {
      weights = from_16_values<T, kOutput>(low, scales, part);
    } else {
      weights = from_32_values<T, kOutput>(low, high, scales, part);
    }
    i32_store((int32_t*)(out + kOutput * kOutputBytes), weights);
  });
}

/// Decodes a row of a panel, as the file has it.
template <DType T>
void decode_row_of_outputs(const PackedMatrix& w, int64_t row, float* y) {
  constexpr PackedBlock kB = packed_block(T);
  const uint8_t* panel = w.data + (size_t)(row / kPanelRows) * panel_bytes(T, w.cols);
  const int output = (int)(row % kPanelRows);
  OutputScales<T> scales;
  for (int64_t b = 0; b < w.cols / kB.block; ++b) {
    const BlockPlace place = place_of_block(T, w.cols / kB.block, b);
    scales.decode(panel + place.scales);
    for (int i = 0; i < kB.block; ++i) {
      const int s = i / columns_of_scale<T>();
      const float value =
          scales.scale[s][output] * value_of<T>(number_of(T, panel + place.quads, i / 32, output, i % 32));
      y[b * kB.block + i] = has_minimum<T>() ? value + scales.minimum[s][output] : value;
    }
  }
}

}  // namespace
}  // namespace octavo
