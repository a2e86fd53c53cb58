// The decode rows of a step that several requests share: which of them wait for their next turn.
//
// The answers of one request may all have a row in each step, though it takes longer then: there is nobody else to
// wait. If several requests have answers under way, the step's time goes round. Each request of one owner has a row,
// however many they are, and further rows go to those that have more answers: second ones, third ones and so on until
// the time is over. If several owners have some, it is each owner that has a row, and further ones by turns. Within a
// request, and within an owner, rows go first that had no turn for the longest time. So a request for hundreds of
// answers, and an owner with hundreds of requests, make the steps of others no longer than the target says.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/step_budget.h"

namespace octavo {

class DecodeTurns {
 public:
  explicit DecodeTurns(int max_sequences) { rows_.reserve(to_size(max_sequences)); }

  /// Sets SchedulerNotes::skipped_in_step = `step` in those of `running` that decode and wait in this step. `budget`:
  /// of the whole step, some of which is taken already.
  void choose(std::span<Sequence* const> running, std::uint64_t step, StepBudget budget);

 private:
  void number_within_requests();
  void number_within_owners();

  std::vector<Sequence*> rows_;  // of this step
};

}  // namespace octavo
