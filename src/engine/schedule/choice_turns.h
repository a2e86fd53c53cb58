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
#include "engine/schedule/step_plan.h"

namespace octavo {

class ChoiceTurns {
 public:
  /// As long as nobody knows what a draw for a prompt's choices costs, a step begins no more of them.
  static constexpr int kUnmeasured = 2;

  explicit ChoiceTurns(int max_sequences) { prompts_.reserve(to_size(max_sequences)); }

  /// Raises the numbers of choices that begin, of prompts among `running` that are computed, in `beginning`, or will be
  /// by the rows that are `planned`, there; as far as time is left, which it takes. It may be called again when more is
  /// planned.
  void choose(std::span<Sequence* const> running, std::span<ScheduledSequence> planned, StepBudget& budget,
              std::vector<BeginningChoices>& beginning);

 private:
  struct Turn {
    Sequence* prompt;
    int number = 0;                     // of choices that begin
    ScheduledSequence* rows = nullptr;  // null: it was computed before
  };

  void list_prompts(std::span<Sequence* const> running, std::span<ScheduledSequence> planned,
                    std::span<const BeginningChoices> beginning);

  std::vector<Turn> prompts_;  // scratch of choose()
};

}  // namespace octavo
