// The sequences with rows that are not finite: BatchOutcome::spoiled. One look in a step finds them, as a row that is
// not finite stays so from layer to layer.
#pragma once

#include <span>
#include <vector>

#include "base/to_size.h"
#include "cpu/compute_context.h"
#include "cpu/residual_stream.h"
#include "stage/step_rows.h"

namespace octavo {

class SpoiledRows {
 public:
  explicit SpoiledRows(int max_rows) : is_finite_(to_size(max_rows)) {}

  void clear() { sequences_.clear(); }
  /// Looks at all rows of the stream, which are those being computed.
  void find(ComputeContext& context, const ResidualStream& stream, const StepRows& rows) {
    context.for_rows(rows.count(),
                     [&](std::int64_t row, int) { is_finite_[to_size(row)] = stream.is_finite(row) ? 1 : 0; });
    rows.add_spoiled([&](int row) { return is_finite_[to_size(row)] != 0; }, sequences_);
  }
  /// Indices of sequences, ascending.
  std::span<const std::int32_t> sequences() const { return sequences_; }

 private:
  std::vector<std::int32_t> sequences_;
  std::vector<std::uint8_t> is_finite_;  // [max_rows]
};

}  // namespace octavo
