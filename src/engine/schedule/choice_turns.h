// The choices that begin in a step. Each draws its first token from the last row of its prompt.
//
// Where no time is predicted, they all begin at once. Otherwise as many begin as the step has time for, and the prompt
// runs on, without rows and with the places of the others, until the last one takes its place. Several prompts take
// turns, one choice each. At least one choice begins in a step, so that all do, however long the rows of others take.
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
  /// The most choices that begin in a step while the cost of their draws is not known.
  static constexpr int kUnmeasured = 2;

  explicit ChoiceTurns(int max_sequences) { prompts_.reserve(to_size(max_sequences)); }

  /// Raises how many choices begin: of computed prompts in `running`, as entries of `beginning`; of prompts that the
  /// `planned` rows complete, in those rows. It goes as far as time is left, and takes that time. It may be called
  /// again when more is planned.
  void choose(std::span<Sequence* const> running, std::span<ScheduledSequence> planned, StepBudget& budget,
              std::vector<BeginningChoices>& beginning);

 private:
  struct Turn {
    Sequence* prompt;
    int number = 0;                     // the number of choices that begin
    ScheduledSequence* rows = nullptr;  // null: the prompt was computed before
  };

  void list_prompts(std::span<Sequence* const> running, std::span<ScheduledSequence> planned,
                    std::span<const BeginningChoices> beginning);

  std::vector<Turn> prompts_;  // scratch of choose()
};

}  // namespace octavo
