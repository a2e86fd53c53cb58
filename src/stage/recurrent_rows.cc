#include "stage/recurrent_rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"
#include "model/model_runner.h"

namespace octavo {

RecurrentRows::RecurrentRows(int max_rows) {
  const std::size_t most = to_size(std::max(max_rows, kMaxDraftedRows));
  ranges_.reserve(most);
  range_of_.reserve(most);
}

void RecurrentRows::plan(const Batch& batch) {
  OCTAVO_CHECK(to_size(batch.num_seqs()) == batch.state_slots.size(), "{} state_slots of {} sequences",
               batch.state_slots.size(), batch.num_seqs());
  OCTAVO_CHECK(batch.num_drafted.size() == batch.state_slots.size(), "{} num_drafted of {} sequences",
               batch.num_drafted.size(), batch.num_seqs());
  ranges_.clear();
  range_of_.clear();
  int num_kept = 0;
  for (std::size_t s = 0; s < batch.state_slots.size(); ++s) {
    const int first = batch.seq_begin[s], count = batch.seq_begin[s + 1] - first;
    add({.first_row = first,
         .num_rows = count,
         .state_slot = batch.state_slots[s],
         .begins = batch.positions[to_size(first)] == 0,
         .num_drafted = batch.num_drafted[s],
         .first_kept = num_kept});
    num_kept += batch.num_drafted[s];
  }
  OCTAVO_CHECK(num_kept <= kMaxDraftedRows, "{} rows of drafted tokens", num_kept);
}

void RecurrentRows::plan_advances(std::span<const StateAdvance> advances) {
  ranges_.clear();
  range_of_.clear();
  for (const StateAdvance& advance : advances)
    if (advance.num_rows > 0)
      add({.first_row = count(),
           .num_rows = advance.num_rows,
           .state_slot = advance.state_slot,
           .begins = false,
           .first_kept = advance.first_row});
}

const RecurrentRows::Range& RecurrentRows::range_of(std::int64_t row) const {
  return ranges_[to_size(range_of_[to_size(row)])];
}

void RecurrentRows::add(const Range& range) {
  range_of_.insert(range_of_.end(), to_size(range.num_rows), static_cast<std::int32_t>(ranges_.size()));
  ranges_.push_back(range);
}

}  // namespace octavo
