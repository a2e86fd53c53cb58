#include "tensor/fit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace octavo {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kMaxValues = 32;
constexpr int kMaxTurns = 8;  // rounds of codes and line by turns; most searches end after two

/// The search tries lines that put an extreme value up to so many steps from the last code in range. A scale has one
/// such value, a line has two; more steps gain less than one part in a hundred.
constexpr int kScaleSteps = 6, kLineSteps = 2;
constexpr float kScaleStep = 0.15F, kLineStep = 0.45F;  // as parts of a code

/// A scale or a line replaces an earlier one only if it is better by this part of the whole, which is more than the
/// sums' rounding errors: among scales on which already quantized weights lie, the right one has codes up to the ends.
constexpr float kLeastScaleGain = 1e-6F, kLeastLineGain = 1e-8F;

/// Four floats, by an extension of GCC and clang: an operator acts on every lane, with the vectors of any processor.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

Lanes load(const float* values) {
  Lanes lanes;
  std::memcpy(&lanes, values, sizeof lanes);
  return lanes;
}

float sum(const Lanes& x) { return (x[0] + x[2]) + (x[1] + x[3]); }

/// The codes next to `x`, ties to even, within range. Adding 1.5 * 2^23 leaves no bits for a fraction.
Lanes codes_next_to(const Lanes& x, float lowest, float highest) {
  constexpr float kShift = 0x1.8p23F;
  const Lanes low = lowest + Lanes{}, high = highest + Lanes{};
  const Lanes floored = x < low ? low : x;
  const Lanes clamped = floored > high ? high : floored;
  return (clamped + kShift) - kShift;
}

/// The steps 0, 1, -1, 2, -2 and so on.
float step_from_middle(int i) { return static_cast<float>(i % 2 == 0 ? -i / 2 : (i + 1) / 2); }

class ScaleSearch {
 public:
  ScaleSearch(std::span<const float> values, std::span<const float> weights, int lowest, int highest)
      : values_(values),
        weights_(weights),
        lowest_(static_cast<float>(lowest)),
        highest_(static_cast<float>(highest)) {}

  /// Takes the best scale for the codes next to values * inverse, if it is better than the best so far.
  bool try_inverse(float inverse) {
    Lanes xl{}, ll{};
    for (std::size_t i = 0; i < values_.size(); i += kLanes) {
      const Lanes x = load(values_.data() + i);
      const Lanes code = codes_next_to(x * inverse, lowest_, highest_);
      const Lanes weighted = load(weights_.data() + i) * code;
      xl += weighted * x;
      ll += weighted * code;
    }
    const float product = sum(xl), square = sum(ll);
    // The error is the sum of w x^2 less this.
    const float gain = square > 0 ? product * product / square : 0;
    if (!(gain > gain_ + kLeastScaleGain * gain_)) return false;
    gain_ = gain;
    scale_ = product / square;
    return true;
  }
  float scale() const { return scale_; }

 private:
  std::span<const float> values_, weights_;
  float lowest_, highest_;
  float gain_ = 0;
  float scale_ = 0;
};

class LineSearch {
 public:
  LineSearch(std::span<const float> values, std::span<const float> weights, int highest, Offset offset)
      : values_(values), weights_(weights), highest_(static_cast<float>(highest)), offset_(offset) {
    Lanes w{}, wx{}, wxx{};
    for (std::size_t i = 0; i < values.size(); i += kLanes) {
      const Lanes weight = load(weights.data() + i);
      const Lanes x = load(values.data() + i);
      w += weight;
      wx += weight * x;
      wxx += weight * x * x;
    }
    sum_w_ = sum(w);
    sum_wx_ = sum(wx);
    sum_wxx_ = sum(wxx);
  }

  /// Takes the best line for the codes next to (values - offset) * inverse, if it is better than the best so far.
  bool try_line(float inverse, float offset) {
    Lanes codes[kMaxValues / kLanes];
    Lanes l{}, ll{}, xl{};
    for (std::size_t i = 0; i < values_.size(); i += kLanes) {
      const Lanes x = load(values_.data() + i);
      const Lanes code = codes_next_to((x - offset) * inverse, 0, highest_);
      const Lanes weighted = load(weights_.data() + i) * code;
      codes[i / kLanes] = code;
      l += weighted;
      ll += weighted * code;
      xl += weighted * x;
    }
    const Line line = solve(sum(l), sum(ll), sum(xl));
    if (!(line.scale > 0)) return false;
    Lanes errors{};
    for (std::size_t i = 0; i < values_.size(); i += kLanes) {
      const Lanes distance = line.scale * codes[i / kLanes] + line.offset - load(values_.data() + i);
      errors += load(weights_.data() + i) * distance * distance;
    }
    const float error = sum(errors);
    if (!(error + kLeastLineGain * sum_wxx_ < error_)) return false;
    error_ = error;
    line_ = line;
    return true;
  }
  const Line& line() const { return line_; }

 private:
  /// The best line for codes of which these are the weighted sums.
  Line solve(float l, float ll, float xl) const {
    const float determinant = sum_w_ * ll - l * l;
    if (!(determinant > 0)) return {};
    const Line line{.scale = (sum_w_ * xl - sum_wx_ * l) / determinant,
                    .offset = (ll * sum_wx_ - l * xl) / determinant};
    if (offset_ == Offset::kNotPositive && line.offset > 0) return {.scale = xl / ll, .offset = 0};
    return line;
  }

  std::span<const float> values_, weights_;
  float highest_;
  Offset offset_;
  float sum_w_ = 0, sum_wx_ = 0, sum_wxx_ = 0;
  float error_ = HUGE_VALF;
  Line line_;
};

}  // namespace

float fit_scale(std::span<const float> values, std::span<const float> weights, int lowest, int highest) {
  float extreme = 0;
  for (const float value : values)
    if (std::abs(value) > std::abs(extreme)) extreme = value;
  if (extreme == 0) return 0;
  ScaleSearch search(values, weights, lowest, highest);
  for (int i = 0; i <= 2 * kScaleSteps; ++i) {
    const float moved = kScaleStep * step_from_middle(i);
    if (lowest < 0) search.try_inverse((static_cast<float>(lowest) + moved) / extreme);
    search.try_inverse((static_cast<float>(highest) + moved) / extreme);
  }
  for (int turn = 0; turn < kMaxTurns && search.scale() != 0; ++turn)
    if (!search.try_inverse(1 / search.scale())) break;
  return search.scale();
}

Line fit_line(std::span<const float> values, std::span<const float> weights, int highest, Offset offset) {
  const auto [least, greatest] = std::ranges::minmax(values);
  const float begin = offset == Offset::kNotPositive ? std::min(least, 0.0F) : least;
  if (!(greatest > begin)) return {.scale = 0, .offset = begin};
  LineSearch search(values, weights, highest, offset);
  const float code = (greatest - begin) / static_cast<float>(highest);
  for (int i = 0; i <= 2 * kLineSteps; ++i) {
    for (int j = 0; j <= 2 * kLineSteps; ++j) {
      const float first = begin + kLineStep * step_from_middle(i) * code;
      const float last = greatest + kLineStep * step_from_middle(j) * code;
      search.try_line(static_cast<float>(highest) / (last - first), first);
    }
  }
  for (int turn = 0; turn < kMaxTurns && search.line().scale > 0; ++turn)
    if (!search.try_line(1 / search.line().scale, search.line().offset)) break;
  if (search.line().scale > 0) return search.line();
  return {.scale = code, .offset = begin};  // all errors have weight 0
}

float nearest_codes(std::span<const float> values, std::span<const float> weights, const Line& line, int lowest,
                    int highest, std::span<float> codes) {
  const float inverse = line.scale == 0 ? 0 : 1 / line.scale;
  Lanes errors{};
  for (std::size_t i = 0; i < values.size(); i += kLanes) {
    const Lanes x = load(values.data() + i);
    const Lanes code =
        codes_next_to((x - line.offset) * inverse, static_cast<float>(lowest), static_cast<float>(highest));
    const Lanes distance = line.scale * code + line.offset - x;
    errors += load(weights.data() + i) * distance * distance;
    std::memcpy(codes.data() + i, &code, sizeof code);
  }
  return sum(errors);
}

}  // namespace octavo
