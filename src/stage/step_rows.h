// The rows that are under way in a step: first all of its batch, later only those whose logits are wanted.
//
// They go from stage to stage; the parts of a stage read them. Owned by the runner.
#pragma once

#include <vector>

#include "base/to_size.h"
#include "model/batch.h"

namespace octavo {

class StepRows {
 public:
  explicit StepRows(int max_rows) { sequence_of_.reserve(to_size(max_rows)); }

  /// The batch must stay as it is until the next call.
  void begin(const Batch& batch);
  /// Makes row i the batch's row logit_rows[i] from here on.
  void keep_logit_rows() { kept_ = true; }

  const Batch& batch() const { return *batch_; }
  /// Whether the rows are only those whose logits are wanted, fewer than the batch has.
  bool are_kept() const { return kept_; }
  int count() const { return kept_ ? static_cast<int>(batch_->logit_rows.size()) : batch_->num_rows(); }
  std::int64_t batch_row(std::int64_t row) const { return kept_ ? batch_->logit_rows[to_size(row)] : row; }
  int sequence_of(std::int64_t batch_row) const { return sequence_of_[to_size(batch_row)]; }

  /// Adds the sequences, ascending, that have a row of the batch which is not finite.
  template <class IsFinite>
  void add_spoiled(const IsFinite& is_finite, std::vector<std::int32_t>& spoiled) const {
    for (int row = 0; row < batch_->num_rows(); ++row) {
      if (is_finite(row)) continue;
      if (spoiled.empty() || spoiled.back() != sequence_of(row)) spoiled.push_back(sequence_of(row));
    }
  }

  /// Calls visit(first, num_rows) for the rows under way, in order: ranges of one sequence at consecutive positions.
  template <class Visit>
  void for_ranges(const Visit& visit) const {
    for (std::int64_t begin = 0, end = 0; begin < count(); begin = end) {
      const int sequence = sequence_of(batch_row(begin));
      end = begin + 1;
      while (end < count() && sequence_of(batch_row(end)) == sequence && batch_row(end) == batch_row(end - 1) + 1)
        ++end;
      visit(begin, static_cast<int>(end - begin));
    }
  }

 private:
  const Batch* batch_ = nullptr;
  bool kept_ = false;
  std::vector<std::int32_t> sequence_of_;  // [rows of the batch]
};

inline void StepRows::begin(const Batch& batch) {
  batch_ = &batch;
  kept_ = false;
  sequence_of_.clear();
  for (int s = 0; s < batch.num_seqs(); ++s) {
    const auto i = to_size(s);
    sequence_of_.insert(sequence_of_.end(), to_size(batch.seq_begin[i + 1] - batch.seq_begin[i]), s);
  }
}

}  // namespace octavo
