// The inputs of a short causal convolution over a sequence: its rows in a step, and the earlier ones in its state.
//
// A row's result is made of the same inputs in the same order however the sequence is cut into chunks, and so are the
// bits of a state. Plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/to_size.h"
#include "model/layer_spec.h"
#include "stage/recurrent_rows.h"

namespace octavo {

/// The inputs of `width` neighbouring channels out of all that a row has.
struct ConvolutionRows {
  const float* rows;    // the rows of all sequences in the step, `stride` floats apart
  const float* zeros;   // [width] the inputs before a sequence begins
  std::int64_t stride;  // the stride of the state's inputs, too
  std::int64_t width;
  int taps;

  using Inputs = std::array<const float*, kMaxConvolutionTaps>;  // [taps]; the last one is the row's own

  /// The inputs for a row of a sequence; `before`: those that its state keeps, [taps - 1].
  Inputs of_row(const RecurrentRows::Range& range, const float* before, std::int64_t row) const {
    Inputs x{};
    const auto history = taps - 1, own = static_cast<int>(row - range.first_row);
    for (int tap = 0; tap < taps; ++tap) {
      const int at = own - history + tap;  // an index of the sequence's rows in the step
      const float* earlier = range.begins ? zeros : before + (history + at) * stride;
      x[to_size(tap)] = at >= 0 ? rows + (range.first_row + at) * stride : earlier;
    }
    return x;
  }

  /// Keeps the last inputs of a sequence's known rows in its state, for the next step.
  void keep(const RecurrentRows::Range& range, float* before) const {
    const int history = taps - 1, taken = std::min(history, range.num_known()), kept = history - taken;
    const float* last = rows + (range.first_row + range.num_known() - taken) * stride;
    for (int i = 0; i < history; ++i) {
      float* to = before + i * stride;
      if (i >= kept) {
        std::copy_n(last + (i - kept) * stride, width, to);
      } else if (range.begins) {
        std::fill_n(to, width, 0.0F);
      } else {
        std::copy_n(before + (i + taken) * stride, width, to);
      }
    }
  }
};

}  // namespace octavo
