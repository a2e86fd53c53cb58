// Blocks of 32 weights with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0; and of 64: Q2_0.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/to_size.h"
#include "tensor/dequantize.h"
#include "tensor/encode_blocks.h"
#include "tensor/fit.h"

namespace octavo {
namespace {

constexpr int kWeights = 32;
using Codes = std::array<float, kWeights>;

struct StoredLine {
  std::uint16_t scale, offset;  // halfs
  Line line() const { return {.scale = f16_to_f32(scale), .offset = f16_to_f32(offset)}; }
};

/// The codes of 4 bits, and fifth bits at their places for qh; `first` is added so that none is negative.
struct PackedCodes {
  std::uint8_t qs[16] = {}, qh[4] = {};

  PackedCodes(const Codes& codes, int first) {
    for (int i = 0; i < kWeights; ++i) {
      const int code = static_cast<int>(codes[to_size(i)]) + first;
      qs[i % 16] |= static_cast<std::uint8_t>((code & 15) << (i < 16 ? 0 : 4));
      qh[i / 8] |= static_cast<std::uint8_t>(code >> 4 << (i % 8));
    }
  }
};

/// The best scale for codes from -first to first - 1, rounded as it is stored, and the codes for that.
std::uint16_t fit_symmetric(std::span<const float> x, std::span<const float> w, int first, Codes& codes) {
  const std::uint16_t d = f32_to_f16(fit_scale(x, w, -first, first - 1));
  nearest_codes(x, w, {.scale = f16_to_f32(d)}, -first, first - 1, codes);
  return d;
}

StoredLine fit_with_offset(std::span<const float> x, std::span<const float> w, int highest, Codes& codes) {
  const Line line = fit_line(x, w, highest, Offset::kAny);
  const StoredLine stored{f32_to_f16(line.scale), f32_to_f16(line.offset)};
  nearest_codes(x, w, stored.line(), 0, highest, codes);
  return stored;
}

}  // namespace

void encode(std::span<const float> x, std::span<const float> w, BlockQ4_0& block) {
  Codes codes;
  block.d = fit_symmetric(x, w, 8, codes);
  std::ranges::copy(PackedCodes(codes, 8).qs, block.qs);
}

void encode(std::span<const float> x, std::span<const float> w, BlockQ5_0& block) {
  Codes codes;
  block.d = fit_symmetric(x, w, 16, codes);
  const PackedCodes packed(codes, 16);
  std::ranges::copy(packed.qs, block.qs);
  std::ranges::copy(packed.qh, block.qh);
}

void encode(std::span<const float> x, std::span<const float> w, BlockQ4_1& block) {
  Codes codes;
  const StoredLine line = fit_with_offset(x, w, 15, codes);
  block.d = line.scale;
  block.m = line.offset;
  std::ranges::copy(PackedCodes(codes, 0).qs, block.qs);
}

void encode(std::span<const float> x, std::span<const float> w, BlockQ5_1& block) {
  Codes codes;
  const StoredLine line = fit_with_offset(x, w, 31, codes);
  block.d = line.scale;
  block.m = line.offset;
  const PackedCodes packed(codes, 0);
  std::ranges::copy(packed.qs, block.qs);
  std::ranges::copy(packed.qh, block.qh);
}

/// With 255 codes a search gains nothing, so the greatest magnitude becomes the last code.
void encode(std::span<const float> x, std::span<const float> w, BlockQ8_0& block) {
  constexpr int kHighest = 127;
  float greatest = 0;
  for (const float weight : x) greatest = std::max(greatest, std::abs(weight));
  block.d = f32_to_f16(greatest / kHighest);
  Codes codes;
  nearest_codes(x, w, {.scale = f16_to_f32(block.d)}, -kHighest, kHighest, codes);
  for (int i = 0; i < kWeights; ++i) block.qs[i] = static_cast<std::int8_t>(codes[to_size(i)]);
}

void encode(std::span<const float> x, std::span<const float> w, BlockQ2_0& block) {
  constexpr int kLowest = -1, kHighest = 2;
  std::array<float, 64> codes;
  block.d = f32_to_f16(fit_scale(x, w, kLowest, kHighest));
  nearest_codes(x, w, {.scale = f16_to_f32(block.d)}, kLowest, kHighest, codes);
  for (int i = 0; i < 16; ++i) {
    int byte = 0;
    for (int j = 0; j < 4; ++j) byte |= (static_cast<int>(codes[to_size(4 * i + j)]) - kLowest) << 2 * j;
    block.qs[i] = static_cast<std::uint8_t>(byte);
  }
}

}  // namespace octavo
