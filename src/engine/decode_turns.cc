#include "engine/decode_turns.h"

#include <algorithm>
#include <tuple>

namespace octavo {

void DecodeTurns::choose(std::span<Sequence* const> running, std::uint64_t step, StepBudget budget) {
  rows_.clear();
  for (Sequence* sequence : running) {
    if (!sequence->is_catching_up()) rows_.push_back(sequence);
  }
  const auto is_of_first = [this](const Sequence* s) {
    return s->notes.counts_of_owner == rows_.front()->notes.counts_of_owner;
  };
  if (rows_.empty() || std::ranges::all_of(rows_, is_of_first)) return;

  std::ranges::sort(rows_, {}, [](const Sequence* s) { return std::tuple(s->notes.planned_in_step, s->notes.rank); });
  for (const Sequence* sequence : rows_) sequence->notes.counts_of_owner->turns = 0;
  for (Sequence* sequence : rows_) sequence->notes.turn = sequence->notes.counts_of_owner->turns++;
  std::ranges::sort(
      rows_, {}, [](const Sequence* s) { return std::tuple(s->notes.turn, s->notes.planned_in_step, s->notes.rank); });
  for (Sequence* sequence : rows_) {
    if (sequence->has_rows()) continue;  // they are taken
    const int num_tokens = sequence->num_uncomputed();
    if (sequence->notes.turn > 0 && !budget.is_in_time(*sequence, num_tokens)) {
      sequence->notes.skipped_in_step = step;
    } else {
      budget.take(*sequence, num_tokens);
    }
  }
}

}  // namespace octavo
