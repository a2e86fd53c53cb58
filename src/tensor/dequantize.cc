#include "tensor/dequantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/to_size.h"
#include "tensor/decode_codebook.h"
#include "tensor/quant_blocks.h"

namespace octavo {
namespace {

// The products and sums below are written in the order of the Python package `gguf`, so that results are equal bit for
// bit: the sub-block's scale first, then the weight, then the minimum.

int low_nibble(std::uint8_t byte) { return byte & 15; }
int high_nibble(std::uint8_t byte) { return byte >> 4; }

/// The 4-bit number of weight i (of 32) in the order that Q4_0 and most others share.
int nibble_q4(const std::uint8_t* qs, int i) { return i < 16 ? low_nibble(qs[i]) : high_nibble(qs[i - 16]); }

/// The fifth bit of weight i (of 32), at its place.
int fifth_bit(const std::uint8_t* qh, int i) { return (qh[i / 8] >> (i % 8) & 1) << 4; }

/// The 2-bit number of weight i (of 256) in the order that Q2_K, Q3_K and TQ2_0 share.
int pair_q2(const std::uint8_t* qs, int i) { return qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3; }

void decode(const BlockQ4_0& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 32; ++i) w[i] = d * static_cast<float>(nibble_q4(b.qs, i) - 8);
}

void decode(const BlockQ4_1& b, float* w) {
  const float d = f16_to_f32(b.d), m = f16_to_f32(b.m);
  for (int i = 0; i < 32; ++i) w[i] = d * static_cast<float>(nibble_q4(b.qs, i)) + m;
}

void decode(const BlockQ5_0& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 32; ++i) w[i] = d * static_cast<float>((nibble_q4(b.qs, i) | fifth_bit(b.qh, i)) - 16);
}

void decode(const BlockQ5_1& b, float* w) {
  const float d = f16_to_f32(b.d), m = f16_to_f32(b.m);
  for (int i = 0; i < 32; ++i) w[i] = d * static_cast<float>(nibble_q4(b.qs, i) | fifth_bit(b.qh, i)) + m;
}

void decode(const BlockQ8_0& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 32; ++i) w[i] = d * static_cast<float>(b.qs[i]);
}

void decode(const BlockQ2_K& b, float* w) {
  const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
  for (int i = 0; i < 256; ++i) {
    const std::uint8_t group = b.scales[i / 16];
    const float scale = d * static_cast<float>(low_nibble(group));
    const float min = dmin * static_cast<float>(high_nibble(group));
    w[i] = scale * static_cast<float>(pair_q2(b.qs, i)) - min;
  }
}

void decode(const BlockQ3_K& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 256; ++i) {
    const float scale = d * static_cast<float>(unpack_scale_q3(b.scales, i / 16) - 32);
    const int third_bit = (b.hmask[i % 32] >> (i / 32) & 1) << 2;
    w[i] = scale * static_cast<float>((pair_q2(b.qs, i) | third_bit) - 4);
  }
}

void decode(const BlockQ4_K& b, float* w) {
  const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
  for (int i = 0; i < 256; ++i) {
    const int g = i / 32;
    const ScaleMin group = unpack_scales_k4(b.scales, g);
    const std::uint8_t byte = b.qs[g / 2 * 32 + i % 32];
    const int q = g % 2 == 0 ? low_nibble(byte) : high_nibble(byte);
    w[i] = d * static_cast<float>(group.scale) * static_cast<float>(q) - dmin * static_cast<float>(group.min);
  }
}

void decode(const BlockQ5_K& b, float* w) {
  const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
  for (int i = 0; i < 256; ++i) {
    const int g = i / 32;
    const ScaleMin group = unpack_scales_k4(b.scales, g);
    const std::uint8_t byte = b.qs[g / 2 * 32 + i % 32];
    const int high = (b.qh[i % 32] >> g & 1) << 4;
    const int q = (g % 2 == 0 ? low_nibble(byte) : high_nibble(byte)) | high;
    w[i] = d * static_cast<float>(group.scale) * static_cast<float>(q) - dmin * static_cast<float>(group.min);
  }
}

void decode(const BlockQ6_K& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, plane = i % 128 / 32, l = i % 32;
    const std::uint8_t byte = b.ql[half * 64 + plane % 2 * 32 + l];
    const int low = plane < 2 ? low_nibble(byte) : high_nibble(byte);
    const int high = (b.qh[half * 32 + l] >> (2 * plane) & 3) << 4;
    w[i] = d * static_cast<float>(b.scales[i / 16]) * static_cast<float>((low | high) - 32);
  }
}

void decode(const BlockIQ4_NL& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 32; ++i) w[i] = d * static_cast<float>(kIq4Values[nibble_q4(b.qs, i)]);
}

void decode(const BlockIQ4_XS& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 256; ++i) {
    const int g = i / 32;
    const int low = b.scales_l[g / 2] >> (g % 2 * 4) & 15;
    const int high = (b.scales_h >> (2 * g) & 3) << 4;
    const float scale = d * static_cast<float>((low | high) - 32);
    w[i] = scale * static_cast<float>(kIq4Values[nibble_q4(b.qs + g * 16, i % 32)]);
  }
}

/// Digit n (0: the most significant) of a byte that holds base-3 digits as a fraction of 256, minus 1.
int ternary_digit(std::uint8_t byte, int n) {
  constexpr int kPowers[] = {1, 3, 9, 27, 81};
  const int rest = byte * kPowers[n] & 0xFF;  // the fraction after the first n digits
  return (rest * 3 >> 8) - 1;
}

void decode(const BlockTQ1_0& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int n = 0; n < 5; ++n) {
    for (int l = 0; l < 32; ++l) w[n * 32 + l] = d * static_cast<float>(ternary_digit(b.qs[l], n));
    for (int l = 0; l < 16; ++l) w[160 + n * 16 + l] = d * static_cast<float>(ternary_digit(b.qs[32 + l], n));
  }
  for (int n = 0; n < 4; ++n)
    for (int l = 0; l < 4; ++l) w[240 + n * 4 + l] = d * static_cast<float>(ternary_digit(b.qh[l], n));
}

void decode(const BlockTQ2_0& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 256; ++i) w[i] = d * static_cast<float>(pair_q2(b.qs, i) - 1);
}

/// 2^(e - 128): half of the E8M0 scale, because kMxfp4Values holds twice the value; denormal for e of 0 and 1.
float mxfp4_half_scale(std::uint8_t e) {
  return std::bit_cast<float>(e < 2 ? std::uint32_t{0x00200000} << e : static_cast<std::uint32_t>(e - 1) << 23);
}

void decode(const BlockMXFP4& b, float* w) {
  const float d = mxfp4_half_scale(b.e);
  for (int i = 0; i < 32; ++i) w[i] = d * static_cast<float>(kMxfp4Values[nibble_q4(b.qs, i)]);
}

/// Half of an E4M3 scale, because kMxfp4Values holds twice the value. The one code that is not finite counts as 0.
float nvfp4_half_scale(std::uint8_t bits) {
  if (bits == 0x7F) return 0;
  const int exponent = bits >> 3 & 15;
  const auto mantissa = static_cast<float>((bits & 7) + (exponent == 0 ? 0 : 8));
  return std::ldexp(mantissa, std::max(exponent, 1) - 11);
}

void decode(const BlockNVFP4& b, float* w) {
  for (int i = 0; i < 64; ++i) {
    const float d = nvfp4_half_scale(b.scales[i / 16]);
    const std::uint8_t byte = b.qs[i / 16 * 8 + i % 8];
    w[i] = d * static_cast<float>(kMxfp4Values[i % 16 < 8 ? low_nibble(byte) : high_nibble(byte)]);
  }
}

void decode(const BlockQ1_0& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 128; ++i) w[i] = (b.qs[i / 8] >> (i % 8) & 1) != 0 ? d : -d;
}

void decode(const BlockQ2_0& b, float* w) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < 64; ++i) w[i] = d * static_cast<float>((b.qs[i / 4] >> (i % 4 * 2) & 3) - 1);
}

template <class Block>
void decode_blocks(const std::byte* blocks, std::span<float> out, int block_elements) {
  for (std::size_t begin = 0; begin < out.size(); begin += to_size(block_elements)) {
    Block block;  // copied: a block's bytes need not be aligned for its 16-bit fields
    std::memcpy(&block, blocks, sizeof(Block));
    decode(block, out.data() + begin);
    blocks += sizeof(Block);
  }
}

template <class Convert>
void decode_halfs(const std::byte* values, std::span<float> out, Convert convert) {
  for (float& weight : out) {
    std::uint16_t bits;
    std::memcpy(&bits, values, sizeof(bits));
    weight = convert(bits);
    values += sizeof(bits);
  }
}

}  // namespace

void dequantize(DType type, const std::byte* blocks, std::span<float> out) {
  const int n = dtype_info(type).block_elements;
  OCTAVO_CHECK(out.size() % to_size(n) == 0, "{} weights of type {}", out.size(), dtype_info(type).name);
  switch (type) {
    case DType::kF32:
      if (!out.empty()) std::memcpy(out.data(), blocks, out.size_bytes());
      return;
    case DType::kF16: return decode_halfs(blocks, out, f16_to_f32);
    case DType::kBF16: return decode_halfs(blocks, out, bf16_to_f32);
    case DType::kQ4_0: return decode_blocks<BlockQ4_0>(blocks, out, n);
    case DType::kQ4_1: return decode_blocks<BlockQ4_1>(blocks, out, n);
    case DType::kQ5_0: return decode_blocks<BlockQ5_0>(blocks, out, n);
    case DType::kQ5_1: return decode_blocks<BlockQ5_1>(blocks, out, n);
    case DType::kQ8_0: return decode_blocks<BlockQ8_0>(blocks, out, n);
    case DType::kQ2_K: return decode_blocks<BlockQ2_K>(blocks, out, n);
    case DType::kQ3_K: return decode_blocks<BlockQ3_K>(blocks, out, n);
    case DType::kQ4_K: return decode_blocks<BlockQ4_K>(blocks, out, n);
    case DType::kQ5_K: return decode_blocks<BlockQ5_K>(blocks, out, n);
    case DType::kQ6_K: return decode_blocks<BlockQ6_K>(blocks, out, n);
    case DType::kIQ4_NL: return decode_blocks<BlockIQ4_NL>(blocks, out, n);
    case DType::kIQ4_XS: return decode_blocks<BlockIQ4_XS>(blocks, out, n);
    case DType::kTQ1_0: return decode_blocks<BlockTQ1_0>(blocks, out, n);
    case DType::kTQ2_0: return decode_blocks<BlockTQ2_0>(blocks, out, n);
    case DType::kMXFP4: return decode_blocks<BlockMXFP4>(blocks, out, n);
    case DType::kNVFP4: return decode_blocks<BlockNVFP4>(blocks, out, n);
    case DType::kQ1_0: return decode_blocks<BlockQ1_0>(blocks, out, n);
    case DType::kQ2_0: return decode_blocks<BlockQ2_0>(blocks, out, n);
    case DType::kIQ2_XXS: return decode_blocks<BlockIQ2_XXS>(blocks, out, n);
    case DType::kIQ2_XS: return decode_blocks<BlockIQ2_XS>(blocks, out, n);
    case DType::kIQ2_S: return decode_blocks<BlockIQ2_S>(blocks, out, n);
    case DType::kIQ3_XXS: return decode_blocks<BlockIQ3_XXS>(blocks, out, n);
    case DType::kIQ3_S: return decode_blocks<BlockIQ3_S>(blocks, out, n);
    case DType::kIQ1_S: return decode_blocks<BlockIQ1_S>(blocks, out, n);
    case DType::kIQ1_M: return decode_blocks<BlockIQ1_M>(blocks, out, n);
  }
  check_failed("supported dtype", __FILE__, __LINE__, "");
}

}  // namespace octavo
