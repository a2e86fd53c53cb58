// The choices that begin in a step. Each draws its first token from the last row of its prompt.
//
// Where nothing is timed they begin all at once. Else as many begin as the step has time for, and the prompt runs on,
// without rows and with the places of the others, until the last one takes its place. Several prompts have one each in
// turn. In a step at least one begins, so that all do, however long the rows of others take.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction.
#pragma once

#include <span>
#include <vector>

#include "base/to_size.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/step_budget.h"

namespace octavo {

class ChoiceTurns {
 public:
  /// As long as nobody knows what a draw for a prompt's choices costs, a step begins no more of them.
  static constexpr int kUnmeasured = 2;

  explicit ChoiceTurns(int max_sequences) { prompts_.reserve(to_size(max_sequences)); }

  /// A new step: none of `running` begins anything.
  static void begin_step(std::span<Sequence* const> running);

  /// Raises SchedulerNotes::num_beginning of prompts among `running` that are computed, or will be by the rows that
  /// are planned, as far as time is left, which it takes. `beginning` becomes those that were computed already and of
  /// which choices begin in this step. It may be called again when more is planned.
  void choose(std::span<Sequence* const> running, StepBudget& budget, std::vector<Sequence*>& beginning);

 private:
  std::vector<Sequence*> prompts_;  // scratch of choose(): those that have choices left to begin
};

}  // namespace octavo
