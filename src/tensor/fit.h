// Finds the scale, or scale and offset, by which small whole numbers ("codes") come nearest to given values.
//
// The nearest codes have the least sum of weight times squared distance. For given codes the best line is a linear
// least-squares problem, for a given line the best codes are those next to the values; the search begins at several
// lines, takes the best, and solves the two problems by turns. Sums have four lanes, added in one order, and no product
// is fused: results are the same on every processor.
#pragma once

#include <span>

namespace octavo {

/// A code stands for scale * code + offset.
struct Line {
  float scale = 0;
  float offset = 0;
};

enum class Offset : unsigned char { kAny, kNotPositive };

/// The scale for codes from `lowest` (at most 0) to `highest`; 0 if all values are. It may be negative. `values` and
/// `weights` (none negative): as many as each other, a multiple of 4.
float fit_scale(std::span<const float> values, std::span<const float> weights, int lowest, int highest);

/// The line for codes from 0 to `highest`; its scale is not negative. At most 32 values.
Line fit_line(std::span<const float> values, std::span<const float> weights, int highest, Offset offset);

/// The codes from `lowest` to `highest` that stand next to the values, and the weighted sum of squared distances. All
/// codes are the one next to 0 where the line's scale is 0.
float nearest_codes(std::span<const float> values, std::span<const float> weights, const Line& line, int lowest,
                    int highest, std::span<float> codes);

}  // namespace octavo
