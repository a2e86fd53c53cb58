// The rows of a step that go through recurrent states, sequence by sequence: which of them are known, which are drafted
// and kept, and which of the kept ones turned out right.
//
// A drafted row goes through a copy of its sequence's state. What it brings is kept, under its number among the drafted
// rows of the batch; once it is known how many were right, these are run through the state itself. Integers only. Owned
// by whoever has states; nothing allocates after the constructor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/batch.h"

namespace octavo {

class RecurrentRows {
 public:
  /// The rows of one sequence.
  struct Range {
    int first_row, num_rows;
    std::int32_t state_slot;
    bool begins;          // the rows begin at position 0, where the state is zeros
    int num_drafted = 0;  // how many of the rows, at the end, are drafted
    int first_kept = 0;   // the number of the first drafted row among the kept ones

    int num_known() const { return num_rows - num_drafted; }
    bool operator==(const Range&) const = default;
  };

  /// Takes the memory for batches of up to `max_rows` rows.
  explicit RecurrentRows(int max_rows);

  /// Plans all rows of a batch. CHECKs that it says what is drafted: at most kMaxDraftedRows.
  void plan(const Batch& batch);
  /// Plans the kept rows that were right, one after another: row 0 is the first of them.
  void plan_advances(std::span<const StateAdvance> advances);

  int count() const { return static_cast<int>(range_of_.size()); }
  std::span<const Range> ranges() const { return ranges_; }
  /// [count()] the number of each row's range.
  std::span<const std::int32_t> range_numbers() const { return range_of_; }
  const Range& range_of(std::int64_t row) const;

 private:
  void add(const Range& range);

  std::vector<Range> ranges_;
  std::vector<std::int32_t> range_of_;  // [rows]
};

}  // namespace octavo
