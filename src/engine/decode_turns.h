// The decode rows of a step that several owners share: which of them wait for their next turn.
//
// The answers of one owner may all have a row in each step, though it takes longer then: there is nobody else to wait.
// If several owners have answers under way, the step's time goes round: first one row of each owner, then a second one
// of those who have more, and so on until the time is over. Of an owner's rows those go first that had none for the
// longest time. So an owner with hundreds of answers makes the steps of others no longer than the target says.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "engine/sequence.h"
#include "engine/step_budget.h"

namespace octavo {

class DecodeTurns {
 public:
  explicit DecodeTurns(int max_sequences) { rows_.reserve(to_size(max_sequences)); }

  /// Sets SchedulerNotes::skipped_in_step = `step` in those of `running` that decode and wait in this step. `budget`:
  /// of the whole step, some of which is taken already.
  void choose(std::span<Sequence* const> running, std::uint64_t step, StepBudget budget);

 private:
  std::vector<Sequence*> rows_;  // of this step
};

}  // namespace octavo
