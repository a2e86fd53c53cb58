// The decode rows of a step that several requests share: which of them wait for their next turn.
//
// The answers of one request alone may all have a row in each step, even if that takes longer: nobody else waits. If
// several requests have answers, they share the step's time by turns. Each request of one owner has a row, however many
// requests there are; further rows go to requests with more answers: second ones, third ones and so on until the time
// is over. If several owners have answers, each owner has a row, and further rows go by turns. Within a request, and
// within an owner, rows that had no turn for the longest time go first. So neither a request for hundreds of answers,
// nor an owner with hundreds of requests, makes the steps of others longer than the target says.
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

  /// Sets SchedulerNotes::skipped_in_step = `step` in decoding sequences of `running` that wait in this step. `budget`:
  /// that of the whole step, of which a part is taken already.
  void choose(std::span<Sequence* const> running, std::uint64_t step, StepBudget budget);

 private:
  void number_within_requests();
  void number_within_owners();

  std::vector<Sequence*> rows_;  // in this step
};

}  // namespace octavo
