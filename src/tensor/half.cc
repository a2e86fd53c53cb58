// Conversions between f32 and the two 16-bit floats by their bits, the same on every processor.
#include <bit>
#include <cstdint>

#include "tensor/dequantize.h"

namespace octavo {

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1F;
  const std::uint32_t mantissa = bits & 0x3FF;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
  // Zero or a denormal half: mantissa * 2^-24, exact in f32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  const auto with_sign = [&](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (magnitude > 0x7F800000) return with_sign(0x7E00 | (magnitude >> 13 & 0x3FF));  // NaN, made quiet
  if (magnitude >= 0x47800000) return with_sign(0x7C00);                             // 65536 and above
  if (magnitude < 0x38800000) {  // below 2^-14: a denormal half, counted in units of 2^-24
    // Adding 0.5 puts the unit of 2^-24 at the end of the mantissa, and the addition rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return with_sign(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F));
  }
  // Round the lower 13 bits to nearest even; a carry moves into the exponent, up to infinity, as it should.
  const std::uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return with_sign((rounded >> 13) - ((127 - 15) << 10));
}

float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // NaN, made quiet
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace octavo
