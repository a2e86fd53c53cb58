// Weights from the CPU's panels in the form that an mma instruction reads, and its sums as floats: for each type what
// src/kernels/generic/ does, with the same order of roundings (docs/kernels.md).
//
// Lane 4 g + j has the rows g and g + 8 of a panel (`r`: 0, 1) and the rows 2 j and 2 j + 1 of a row tile (`n`). Sums
// are exact integers. A sum below 2^22 becomes a float without a conversion: it begins with the bits of a large float,
// which is subtracted in the end.
#pragma once

#include "gpu/kernels/product_arguments.h"
#include "gpu/simt.h"

namespace octavo::gpu {

inline constexpr int kMagic = 0x4B400000;  // the bits of 1.5 * 2^23
inline constexpr float kMagicFloat = 12582912.0F;

template <DType T, ScaleOrder O>
struct Format {
  static constexpr DType kType = T;
  static constexpr bool kWords = O == ScaleOrder::kWordScales;
  static constexpr bool kPairs = T == DType::kQ4_1;     // integer scales in units of the row
  static constexpr bool kSixteens = T == DType::kQ6_K;  // each 16 weights have a scale
  static constexpr bool kSharedScales = has_shared_scales(T);
  /// The sub-blocks in 32 columns.
  static constexpr int kParts = kSixteens ? 2 : 1;
  static constexpr bool kHasMin = kSharedScales || (kSixteens && kWords);
  /// The activation blocks whose floats are added up before their common scale is applied: those of a weight block.
  static constexpr int kScaledBlocks = kWords ? 8 : T == DType::kQ1_0 ? 4 : 1;
  /// How much a stored byte exceeds its weight, where that is subtracted from integers.
  static constexpr int kZero = T == DType::kQ8_0                        ? 128
                               : T == DType::kQ4_0 || T == DType::kQ4_1 ? 8
                               : T == DType::kQ5_0                      ? 16
                               : T == DType::kQ1_0                      ? 1
                               : T == DType::kQ6_K && !kWords           ? 32
                                                                        : 0;
  /// Whether sums begin with kMagic: with integer scales some would be too large for it.
  static constexpr bool kMagicSums = !kPairs && (!kWords || T == DType::kQ4_K);
};

OCTAVO_GPU_DEVICE uint32_t word_at(const uint8_t* p) { return *(const uint32_t*)p; }
OCTAVO_GPU_DEVICE float half_at(const uint8_t* p, int i) { return simt::half_to_float(((const uint16_t*)p)[i]); }
/// a b + c of integers that wrap around: sums of activations that are not finite may have any value.
OCTAVO_GPU_DEVICE int wrapping_fma(int a, int b, int c) { return (int)((uint32_t)a * (uint32_t)b + (uint32_t)c); }
/// The float of a byte.
OCTAVO_GPU_DEVICE float byte_to_float(uint32_t byte) {
  return simt::sub(simt::as_float((int)(0x4B000000U | byte)), 8388608.0F);
}

/// Loads the bytes of weights in block `b` (32 columns) of a slice: rows g and g + 8, quads j and j + 4.
template <class F>
OCTAVO_GPU_DEVICE void load_weights(const uint8_t* slice, int b, int g, int j, uint32_t (&a)[4]) {
  constexpr DType kType = F::kType;
  constexpr PackedBlock kBlock = packed_block(kType);
  constexpr uint32_t kNibbles = 0x0F0F0F0F;
  const int at = 64 * j + 4 * g;  // where a quad is in planes of 64 bytes
  // Where the block's quads begin: units have two blocks, or one, or a block of 256 columns.
  const int unit_bytes = 2 * (kBlock.quad_bytes + kBlock.scale_bytes);
  const uint8_t* quads = slice + b / 2 * unit_bytes + 64 + b % 2 * kBlock.quad_bytes;
  if constexpr (F::kPairs) quads = slice + b * (kBlock.quad_bytes + kBlock.scale_bytes) + kBlock.scale_bytes;
  if constexpr (kBlock.block == 256) quads = slice + kBlock.scale_bytes;
  if constexpr (kType == DType::kQ8_0) {
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) a[i] = word_at(quads + at + i / 2 * 256 + i % 2 * 32);
  } else if constexpr (kType == DType::kQ1_0) {  // bits 2 G, 2 G + 1 of vector i: twice quads 2 i, 2 i + 1 of block G
    const uint8_t* block = slice + b / 8 * unit_bytes + 64 + b / 4 % 2 * kBlock.quad_bytes;
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      const uint32_t w = word_at(block + (j / 2 + i / 2 * 2) * 64 + 4 * g + i % 2 * 32);
      a[i] = (b % 4 == 0 ? w << (1 - j % 2) : w >> (2 * (b % 4) + j % 2 - 1)) & 0x02020202;
    }
  } else {
    const uint8_t* nibbles = kBlock.block == 256 ? quads + b * 256 : quads;
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) {
      const uint32_t w = word_at(nibbles + at + 32 * r);
      a[r] = w & kNibbles;
      a[2 + r] = w >> 4 & kNibbles;
    }
    const uint8_t* high = kType == DType::kQ5_0 ? quads + 256 : quads + 2048 + b * (kType == DType::kQ6_K ? 128 : 64);
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) {
      if constexpr (kType == DType::kQ5_0 || kType == DType::kQ5_K) {
        const uint32_t bits = word_at(high + 4 * g + 32 * r);
        a[r] |= (bits >> j & 0x01010101) << 4;
        a[2 + r] |= (bits >> (j + 4) & 0x01010101) << 4;
      }
      if constexpr (kType == DType::kQ6_K) {
        a[r] |= (word_at(high + 4 * g + 32 * r) >> 2 * j & 0x03030303) << 4;
        a[2 + r] |= (word_at(high + 64 + 4 * g + 32 * r) >> 2 * j & 0x03030303) << 4;
      }
    }
  }
}

/// Decodes the scales of 256 columns of Q4_K or Q5_K into shared memory, by a warp: each lane has field i of four rows
/// from 4 r on.
template <class F>
OCTAVO_GPU_DEVICE void decode_scales(const uint8_t* slice, uint8_t* out) {
  const int i = simt::lane() / 4, r = simt::lane() % 4;
  const uint32_t low = word_at(slice + 64 + i * 16 + r * 4), high = word_at(slice + 192 + i / 2 * 16 + r * 4);
  const bool even = i % 2 == 0;
  const uint32_t scales = (low & 0x0F0F0F0F) | (even ? (high & 0x03030303) << 4 : high & 0x30303030);
  const uint32_t minimums = (low >> 4 & 0x0F0F0F0F) | (even ? (high & 0x0C0C0C0C) << 2 : high >> 2 & 0x30303030);
  OCTAVO_GPU_UNROLL
  for (int b = 0; b < 4; ++b) {
    const uint32_t scale = scales >> 8 * b & 255, minimum = minimums >> 8 * b & 255;
    float* const to = (float*)(out + (r * 4 + b) * kScaleRowBytes + i * 8);
    to[0] = F::kWords ? simt::as_float((int)scale) : simt::mul(half_at(slice, r * 4 + b), byte_to_float(scale));
    to[1] = simt::mul(-half_at(slice + 32, r * 4 + b), byte_to_float(minimum));
  }
}

/// The scales of a block of 32 columns, for rows g and g + 8.
template <class F>
struct BlockScales {
  float scale[F::kParts][2];  // an integer's bits, where integer scales multiply sums
  float minimum[F::kParts][2];
  int s[2], eight_t[2];  // the scales of kPairs types

  /// Loads the scales of block b of a slice; `decoded`: the slice's scales in shared memory, if they are there.
  OCTAVO_GPU_DEVICE void load(const uint8_t* slice, const uint8_t* decoded, int b, int g) {
    OCTAVO_GPU_UNROLL
    for (int r = 0; r < 2; ++r) {
      const int row = g + 8 * r;
      if constexpr (F::kSharedScales) {
        const simt::Floats2 both = simt::load8f(decoded + row * kScaleRowBytes + b * 8);
        scale[0][r] = both.v[0];
        minimum[0][r] = both.v[1];
      } else if constexpr (F::kPairs) {
        const uint32_t pair = word_at(slice + b * slice_bytes(F::kType, kActBlock) + row * 4);
        s[r] = (int16_t)(pair & 0xFFFF);
        eight_t[r] = ((int)pair >> 16) * 8;
      } else if constexpr (F::kSixteens) {
        load_sixteens(slice, b, row, r);
      } else if constexpr (F::kScaledBlocks == 1) {
        scale[0][r] = half_at(slice + b / 2 * slice_bytes(F::kType, 2 * kActBlock) + b % 2 * 32, row);
      }
    }
  }

 private:
  OCTAVO_GPU_DEVICE void load_sixteens(const uint8_t* slice, int b, int row, int r) {
    const float d = half_at(slice, row);
    OCTAVO_GPU_UNROLL
    for (int part = 0; part < F::kParts; ++part) {
      const int integer = (int8_t)slice[32 + (2 * b + part) * 16 + row];
      const float as_float = simt::to_float(integer);
      scale[part][r] = F::kWords ? simt::as_float(integer) : simt::mul(d, as_float);
      if constexpr (F::kWords) minimum[part][r] = simt::mul(simt::mul(d, -32.0F), as_float);
    }
  }
};

/// The scale of weight block `block` of a slice, for row g or g + 8, which multiplies the added floats.
template <class F>
OCTAVO_GPU_DEVICE float block_scale(const uint8_t* slice, int block, int g, int r) {
  if constexpr (F::kWords) return half_at(slice, g + 8 * r);
  return half_at(slice + block / 2 * slice_bytes(F::kType, 256) + block % 2 * 32, g + 8 * r);
}

/// A lane's part of a block of 32 columns of a row tile.
template <class F>
struct ActBlock {
  uint32_t q[2];         // row g: four bytes from column 4 j on, and from 16 + 4 j on
  float scale[2];        // for rows 2 j and 2 j + 1, as all below
  float sum32[2];        // the scale times the sum of q
  int sum[2], first[2];  // the sum of q over 32, and over the first 16 columns

  /// The sum of q over sub-block `part`.
  OCTAVO_GPU_DEVICE int sum_of(int part, int n) const {
    if constexpr (F::kParts == 1) return sum[n];
    return part == 0 ? first[n] : wrapping_fma(first[n], -1, sum[n]);
  }
  /// The factor of a sub-block's minimum.
  OCTAVO_GPU_DEVICE float sum_for_minimum(int part, int n) const {
    if constexpr (F::kParts == 1) return sum32[n];
    return simt::mul(scale[n], simt::to_float(sum_of(part, n)));
  }
};

/// A lane's part of 64 columns. `has_row`: whether row g exists; where it does not, products are not used.
template <class F>
struct ActsOfPair {
  ActBlock<F> block[2];

  OCTAVO_GPU_DEVICE void load(const ActPair& pair, int g, int j, bool has_row) {
    simt::Words4 q = {{0, 0, 0, 0}};
    if (has_row) q = simt::load16(pair.q[g][j]);
    OCTAVO_GPU_UNROLL
    for (int b = 0; b < 2; ++b) {
      ActBlock<F>& to = block[b];
      to.q[0] = q.v[2 * b];
      to.q[1] = q.v[2 * b + 1];
      if constexpr (F::kHasMin && F::kParts == 1) {
        const simt::Floats4 terms = simt::load16f(pair.terms[b][j]);
        for (int n = 0; n < 2; ++n) to.scale[n] = terms.v[n], to.sum32[n] = terms.v[2 + n];
      } else {
        const simt::Floats2 scales = simt::load8f(pair.terms[b][j]);
        for (int n = 0; n < 2; ++n) to.scale[n] = scales.v[n];
      }
      if constexpr (F::kZero != 0 || F::kParts == 2) {
        const simt::Words2 sums = simt::load8(pair.sums[b][j]);
        for (int n = 0; n < 2; ++n) to.sum[n] = (int)sums.v[n];
      }
      if constexpr (F::kParts == 2) {
        const simt::Words2 sums = simt::load8(pair.first_sums[b][j]);
        for (int n = 0; n < 2; ++n) to.first[n] = (int)sums.v[n];
      }
    }
  }
};

/// The sums of products of a block of 32 columns, one for each part that has a scale of its own.
template <class F>
struct BlockSums {
  int dot[F::kParts][4];  // [2 r + n]

  OCTAVO_GPU_DEVICE void multiply(const uint32_t (&a)[4], const ActBlock<F>& x) {
    int begin[F::kParts][4];
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4 * F::kParts; ++i)
      begin[i / 4][i % 4] = F::kZero == 0 ? kBegin : wrapping_fma(x.sum_of(i / 4, i % 2), -F::kZero, kBegin);
    if constexpr (F::kParts == 1) {
      simt::mma_u8(dot[0], a, x.q[0], x.q[1], begin[0]);
    } else {
      simt::mma_u8_k16(dot[0], a[0], a[1], x.q[0], begin[0]);
      simt::mma_u8_k16(dot[1], a[2], a[3], x.q[1], begin[1]);
    }
  }

  /// The float of a part, which factor_of() is to multiply.
  OCTAVO_GPU_DEVICE float value(const BlockScales<F>& scales, const ActBlock<F>& x, int r, int n) const {
    const int i = 2 * r + n;
    if constexpr (F::kPairs) {
      return simt::to_float(wrapping_fma(scales.eight_t[r], x.sum[n], wrapping_fma(scales.s[r], dot[0][i], 0)));
    } else if constexpr (F::kWords) {
      int sum = F::kMagicSums ? kMagic : 0;
      for (int part = 0; part < F::kParts; ++part)
        sum = wrapping_fma(simt::as_int(scales.scale[part][r]), dot[part][i], sum);
      return F::kMagicSums ? simt::sub(simt::as_float(sum), kMagicFloat) : simt::to_float(sum);
    } else {
      const float first = simt::sub(simt::as_float(dot[0][i]), kMagicFloat);
      if constexpr (F::kParts == 1) return first;
      const float second = simt::sub(simt::as_float(dot[F::kParts - 1][i]), kMagicFloat);
      return simt::fma(second, scales.scale[F::kParts - 1][r], simt::mul(first, scales.scale[0][r]));
    }
  }

 private:
  static constexpr int kBegin = F::kMagicSums && !F::kWords ? kMagic : 0;
};

/// The factor of a block's float.
template <class F>
OCTAVO_GPU_DEVICE float factor_of(const BlockScales<F>& scales, const ActBlock<F>& x, int r, int n) {
  if constexpr (F::kPairs || F::kSixteens || F::kScaledBlocks > 1) return x.scale[n];
  return simt::mul(scales.scale[0][r], x.scale[n]);
}

/// Begins to copy up to MaxBytes bytes, a multiple of 16, by a warp.
template <int MaxBytes>
OCTAVO_GPU_DEVICE void copy_by_warp(uint8_t* to, const uint8_t* from, int bytes) {
  constexpr int kAtOnce = 16 * simt::kWarp;
  OCTAVO_GPU_UNROLL
  for (int first = 0; first < MaxBytes; first += kAtOnce) {
    const int i = first + 16 * simt::lane();
    if (i < bytes) simt::copy16(to + i, from + i);
  }
}

/// Begins to copy up to Cols columns of a panel of `all` columns, from column `first` on, by a warp.
template <class F, int Cols>
OCTAVO_GPU_DEVICE void copy_columns(uint8_t* to, const uint8_t* panel, int64_t all, int64_t first) {
  constexpr PackedBlock kBlock = packed_block(F::kType);
  constexpr int kBytes = slice_bytes(F::kType, Cols);
  if constexpr (F::kSixteens) {  // in units of two blocks all scales come first
    const BlockPlace place = place_of_block(F::kType, all / kBlock.block, first / kBlock.block);
    copy_by_warp<kBlock.scale_bytes>(to, panel + place.scales, kBlock.scale_bytes);
    copy_by_warp<kBlock.quad_bytes>(to + kBlock.scale_bytes, panel + place.quads, kBlock.quad_bytes);
  } else {
    const int64_t offset = first / kBlock.block * (kBlock.quad_bytes + kBlock.scale_bytes);
    const int64_t left = (int64_t)place_of_units(F::kType, all) - offset;
    copy_by_warp<kBytes>(to, panel + offset, left < kBytes ? (int)left : kBytes);
  }
}

/// The unit of integer scales of a row, in a panel of `cols` columns.
OCTAVO_GPU_DEVICE float row_unit(DType type, const uint8_t* panel, int64_t cols, int row) {
  return ((const float*)(panel + place_of_units(type, cols)))[row];
}

}  // namespace octavo::gpu
