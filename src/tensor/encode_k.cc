// Blocks of 256 weights in groups, whose scales are codes of the block's own scale: Q4_K, Q5_K, Q6_K.
//
// Each group is fitted by itself; then the groups' scales (and minima) are fitted as any weights are, and each group
// takes of the few pairs of codes next to its own the one with the least error.
#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/dequantize.h"
#include "tensor/encode_blocks.h"
#include "tensor/fit.h"

namespace octavo {
namespace {

constexpr std::size_t kWeights = 256;
using Codes = std::array<float, kWeights>;

float sum_of(std::span<const float> values) {
  float sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

/// The codes next to value / scale: up to three, from `lowest` to `highest`.
struct Neighbours {
  int first, last;
  Neighbours(float value, float scale, int lowest, int highest) {
    const int middle = scale == 0 ? 0 : static_cast<int>(std::lround(value / scale));
    first = std::clamp(middle - 1, lowest, highest);
    last = std::clamp(middle + 1, lowest, highest);
  }
};

/// 8 groups of 32 weights with scale and minimum: w = d sc q - dmin mn.
struct LineGroups {
  static constexpr std::size_t kGroups = 8, kGroupWeights = 32;
  static constexpr int kHighestScale = 63;

  std::uint16_t d, dmin;
  ScaleMin groups[kGroups];
  Codes codes;

  LineGroups(std::span<const float> x, std::span<const float> w, int highest) {
    std::array<float, kGroups> scales, mins, sums;
    for (std::size_t g = 0; g < kGroups; ++g) {
      const auto xs = x.subspan(g * kGroupWeights, kGroupWeights), ws = w.subspan(g * kGroupWeights, kGroupWeights);
      const Line line = fit_line(xs, ws, highest, Offset::kNotPositive);
      scales[g] = line.scale;
      mins[g] = -line.offset;
      sums[g] = sum_of(ws);
    }
    d = f32_to_f16(fit_scale(scales, sums, 0, kHighestScale));
    dmin = f32_to_f16(fit_scale(mins, sums, 0, kHighestScale));
    for (std::size_t g = 0; g < kGroups; ++g)
      groups[g] = choose(x.subspan(g * kGroupWeights, kGroupWeights), w.subspan(g * kGroupWeights, kGroupWeights),
                         {.scale = scales[g], .offset = mins[g]}, highest,
                         std::span(codes).subspan(g * kGroupWeights, kGroupWeights));
  }

 private:
  /// Chooses the scale and minimum of a group, and its codes.
  ScaleMin choose(std::span<const float> x, std::span<const float> w, const Line& wanted, int highest,
                  std::span<float> chosen) const {
    const float unit = f16_to_f32(d), min_unit = f16_to_f32(dmin);
    const Neighbours scales(wanted.scale, unit, 0, kHighestScale), mins(wanted.offset, min_unit, 0, kHighestScale);
    std::array<float, kGroupWeights> tried;
    ScaleMin best{};
    float least = HUGE_VALF;
    for (int scale = scales.first; scale <= scales.last; ++scale) {
      for (int min = mins.first; min <= mins.last; ++min) {
        const Line line{.scale = unit * static_cast<float>(scale), .offset = -min_unit * static_cast<float>(min)};
        const float error = nearest_codes(x, w, line, 0, highest, tried);
        if (!(error < least)) continue;
        least = error;
        best = {static_cast<std::uint8_t>(scale), static_cast<std::uint8_t>(min)};
        std::ranges::copy(tried, chosen.begin());
      }
    }
    return best;
  }
};

std::uint8_t code_at(const Codes& codes, std::size_t i) { return static_cast<std::uint8_t>(codes[i]); }

/// Packs the low nibbles of Q4_K and Q5_K: groups 2p and 2p + 1 share 32 bytes.
void pack_nibbles(const Codes& codes, std::uint8_t* qs) {
  for (std::size_t byte = 0; byte < kWeights / 2; ++byte) {
    const std::size_t i = byte / 32 * 64 + byte % 32;
    qs[byte] = static_cast<std::uint8_t>((code_at(codes, i) & 15) | (code_at(codes, i + 32) & 15) << 4);
  }
}

/// Encodes what Q4_K and Q5_K have in common; gives the codes, of which Q5_K has another bit to store.
template <class Block>
Codes encode_lines(std::span<const float> x, std::span<const float> w, int highest, Block& block) {
  const LineGroups lines(x, w, highest);
  block.d = lines.d;
  block.dmin = lines.dmin;
  pack_scales_k4(lines.groups, block.scales);
  pack_nibbles(lines.codes, block.qs);
  return lines.codes;
}

}  // namespace

void encode(std::span<const float> x, std::span<const float> w, BlockQ4_K& block) { encode_lines(x, w, 15, block); }

void encode(std::span<const float> x, std::span<const float> w, BlockQ5_K& block) {
  const Codes codes = encode_lines(x, w, 31, block);
  std::ranges::fill(block.qh, 0);
  for (std::size_t i = 0; i < kWeights; ++i)
    block.qh[i % 32] |= static_cast<std::uint8_t>(code_at(codes, i) >> 4 << (i / 32));
}

void encode(std::span<const float> x, std::span<const float> w, BlockQ6_K& block) {
  constexpr std::size_t kGroups = 16, kGroupWeights = 16;
  constexpr int kLowest = -32, kHighest = 31;
  std::array<float, kGroups> scales, sums;
  for (std::size_t g = 0; g < kGroups; ++g) {
    const auto ws = w.subspan(g * kGroupWeights, kGroupWeights);
    scales[g] = fit_scale(x.subspan(g * kGroupWeights, kGroupWeights), ws, kLowest, kHighest);
    sums[g] = sum_of(ws);
  }
  block.d = f32_to_f16(fit_scale(scales, sums, -128, 127));
  const float unit = f16_to_f32(block.d);
  Codes codes{};
  std::array<float, kGroupWeights> tried;
  for (std::size_t g = 0; g < kGroups; ++g) {
    const Neighbours near(scales[g], unit, -128, 127);
    float least = HUGE_VALF;
    for (int scale = near.first; scale <= near.last; ++scale) {
      const float error =
          nearest_codes(x.subspan(g * kGroupWeights, kGroupWeights), w.subspan(g * kGroupWeights, kGroupWeights),
                        {.scale = unit * static_cast<float>(scale)}, kLowest, kHighest, tried);
      if (!(error < least)) continue;
      least = error;
      block.scales[g] = static_cast<std::int8_t>(scale);
      std::ranges::copy(tried, codes.begin() + static_cast<std::ptrdiff_t>(g * kGroupWeights));
    }
  }
  std::ranges::fill(block.ql, 0);
  std::ranges::fill(block.qh, 0);
  for (std::size_t i = 0; i < kWeights; ++i) {
    const int code = static_cast<int>(codes[i]) - kLowest;
    const std::size_t half = i / 128, plane = i % 128 / 32, l = i % 32;
    block.ql[half * 64 + plane % 2 * 32 + l] |= static_cast<std::uint8_t>((code & 15) << (plane < 2 ? 0 : 4));
    block.qh[half * 32 + l] |= static_cast<std::uint8_t>(code >> 4 << (2 * plane));
  }
}

}  // namespace octavo
