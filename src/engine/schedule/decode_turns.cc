#include "engine/schedule/decode_turns.h"

#include <algorithm>
#include <tuple>

namespace octavo {
namespace {

auto by_turn(const Sequence* sequence) {
  return std::tuple(sequence->notes.turn, sequence->notes.planned_in_step, sequence->notes.rank);
}

}  // namespace

void DecodeTurns::choose(std::span<Sequence* const> running, std::uint64_t step, StepBudget budget) {
  rows_.clear();
  for (Sequence* sequence : running)
    if (!sequence->is_catching_up() && !sequence->awaits_choices() && !sequence->waits()) rows_.push_back(sequence);
  const auto is_of_first_request = [this](const Sequence* s) { return s->params.id == rows_.front()->params.id; };
  const auto is_of_first_owner = [this](const Sequence* s) {
    return s->notes.counts_of_owner == rows_.front()->notes.counts_of_owner;
  };
  if (rows_.empty() || std::ranges::all_of(rows_, is_of_first_request)) return;

  number_within_requests();
  if (!std::ranges::all_of(rows_, is_of_first_owner)) number_within_owners();
  const auto has_rows = [step](const Sequence* s) { return s->notes.planned_in_step == step; };
  const auto has_its_row = [&](const Sequence* s) { return s->notes.turn == 0 || has_rows(s); };
  for (const Sequence* sequence : rows_)
    if (has_its_row(sequence) && !has_rows(sequence)) budget.take(*sequence, sequence->num_uncomputed());
  const double ms = budget.ms_beside();
  std::ranges::sort(rows_, {}, by_turn);
  for (Sequence* sequence : rows_) {
    if (has_its_row(sequence)) continue;
    const int num_tokens = sequence->num_uncomputed();
    if (budget.is_within(*sequence, num_tokens, ms)) {
      budget.take(*sequence, num_tokens);
    } else {
      sequence->notes.skipped_in_step = step;
    }
  }
}

void DecodeTurns::number_within_requests() {
  std::ranges::sort(
      rows_, {}, [](const Sequence* s) { return std::tuple(s->params.id, s->notes.planned_in_step, s->notes.rank); });
  const Sequence* before = nullptr;
  for (Sequence* sequence : rows_) {
    const bool is_of_same = before != nullptr && before->params.id == sequence->params.id;
    sequence->notes.turn = is_of_same ? before->notes.turn + 1 : 0;
    before = sequence;
  }
}

/// Turns the numbers of a request's rows into numbers within its owner.
void DecodeTurns::number_within_owners() {
  std::ranges::sort(rows_, {}, by_turn);
  for (const Sequence* sequence : rows_) sequence->notes.counts_of_owner->turns = 0;
  for (Sequence* sequence : rows_) sequence->notes.turn = sequence->notes.counts_of_owner->turns++;
}

}  // namespace octavo
