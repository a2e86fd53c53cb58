// Encoders of one block of each type that can be written, for quantize.cc: the inverse of dequantize.cc.
//
// `x` are the weights of the block, finite and at most kMaxHalf in magnitude. `w` are the factors of their squared
// errors, none negative.
#pragma once

#include <span>

#include "tensor/quant_blocks.h"

namespace octavo {

/// The greatest finite IEEE half: no scale may exceed it.
inline constexpr float kMaxHalf = 65504;

void encode(std::span<const float> x, std::span<const float> w, BlockQ4_0& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ4_1& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ5_0& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ5_1& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ8_0& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ4_K& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ5_K& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ6_K& block);
void encode(std::span<const float> x, std::span<const float> w, BlockQ2_0& block);

}  // namespace octavo
