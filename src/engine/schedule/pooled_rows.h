// The vector of a prompt, made of its rows as steps compute them: their mean, the first or the last one.
//
// Owned by its request; only the thread that drives the engine may touch it. Rows are added in the order of positions,
// so that the bits are the same however a prompt is cut into chunks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "octavo/embedding.h"

namespace octavo {

/// The positions p with begin <= p < end.
struct PositionRange {
  int begin = 0, end = 0;

  bool is_empty() const { return begin >= end; }
};

class PooledRows {
 public:
  using Callback = std::function<void(int first, int count, std::span<const float> rows)>;

  /// For a request that wants no vector.
  PooledRows() = default;
  /// `rows`: how rows become one; `ranks`: the model's ranking head reads that one. Throws std::bad_alloc.
  PooledRows(Pooling rows, bool ranks, int width, Callback on_rows)
      : pooling_(rows), ranks_(ranks), on_rows_(std::move(on_rows)), pooled_(to_size(width)) {}

  bool is_wanted() const { return on_rows_ != nullptr; }
  bool ranks() const { return ranks_; }
  /// The positions of a prompt whose rows are needed.
  PositionRange positions(int prompt_tokens) const;

  /// Adds the next rows of these positions, [count][width].
  void add(std::span<const float> rows);
  /// The pooled row for the model's head, after all rows were added.
  std::span<const float> finish(int prompt_tokens);
  /// Takes the result of the head.
  void set_result(std::span<const float> result);
  /// Whether all numbers so far were finite.
  bool is_finite() const { return is_finite_; }

  /// Gives the caller rows that are not pooled, [count][width], from number `first` on.
  void deliver_each(int first, std::span<const float> rows) const {
    on_rows_(first, static_cast<int>(rows.size() / pooled_.size()), rows);
  }
  /// Whether there is a result that the caller does not have yet.
  bool has_result() const { return has_result_; }
  void deliver() {
    has_result_ = false;
    on_rows_(0, 1, result_);
  }
  bool keeps_each() const { return pooling_ == Pooling::kNone; }

 private:
  Pooling pooling_ = Pooling::kNone;
  bool ranks_ = false;
  bool has_result_ = false, is_finite_ = true;
  Callback on_rows_;
  std::vector<float> pooled_;  // [width]
  std::vector<float> result_;
};

}  // namespace octavo
