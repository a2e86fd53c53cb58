#include "engine/decode_turns.h"

#include <algorithm>
#include <tuple>

namespace octavo {

void DecodeTurns::choose(std::span<Sequence* const> running, std::uint64_t step, StepWork work, const CostModel& cost,
                         double budget_ms) {
  rows_.clear();
  for (Sequence* sequence : running) {
    if (!sequence->in_prefill()) rows_.push_back(sequence);
  }
  const auto is_of_first = [this](const Sequence* s) { return s->share == rows_.front()->share; };
  if (rows_.empty() || std::ranges::all_of(rows_, is_of_first)) return;

  std::ranges::sort(rows_, {}, [](const Sequence* s) { return std::tuple(s->planned_in_step, s->rank); });
  for (const Sequence* sequence : rows_) sequence->share->turns = 0;
  for (Sequence* sequence : rows_) sequence->turn = sequence->share->turns++;
  std::ranges::sort(rows_, {}, [](const Sequence* s) { return std::tuple(s->turn, s->planned_in_step, s->rank); });
  for (Sequence* sequence : rows_) {
    if (sequence->planned_in_step == step) continue;  // `work` has it
    const StepWork with_row = work + cost.work(sequence->num_computed, 1, 1);
    if (sequence->turn > 0 && cost.predict_ms(with_row) > budget_ms) {
      sequence->passed_in_step = step;
    } else {
      work = with_row;
    }
  }
}

}  // namespace octavo
