// Reference decoding of quantized weights, straight from the layouts of a GGUF file.
//
// The code is plain and scalar: every kernel is tested against it, and loading uses it for small
// tensors. Tests prove it equal to the Python package `gguf`.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace octavo {

/// f32 from the bits of an IEEE half (denormals, infinities and NaNs included).
float f16_to_f32(std::uint16_t bits);
/// The nearest IEEE half (ties to even); overflow gives infinity.
std::uint16_t f32_to_f16(float value);
/// f32 from the bits of a bfloat16.
float bf16_to_f32(std::uint16_t bits);
/// The nearest bfloat16 (ties to even); NaN stays NaN.
std::uint16_t f32_to_bf16(float value);

/// Decodes `out.size()` weights, a whole number of blocks of `type`, from `blocks`.
void dequantize(DType type, const std::byte* blocks, std::span<float> out);

}  // namespace octavo
