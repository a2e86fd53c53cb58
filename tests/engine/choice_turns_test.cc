// Choices of a prompt that begin in a step, and those that the step has no time for.
#include "engine/schedule/choice_turns.h"

#include <gtest/gtest.h>

#include <deque>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::make_cost;

/// Prompts of four tokens; steps cost 1 ms, and 1 ms a row.
class Prompts {
 public:
  explicit Prompts(double step_ms) : step_ms_(step_ms) {}

  /// Computed already, or by the rows of this step.
  Sequence& add(int num_choices, double draw_ms, bool is_computed) {
    Sequence& prompt = sequences_.emplace_back();
    prompt.tokens.assign(4, 0);
    prompt.params.prompt_tokens = prompt.pending.prompt_logits_from = prompt.notes.num_admitted_tokens = 4;
    prompt.num_forks = num_choices - 1;
    prompt.draw_ms = draw_ms;
    prompt.num_computed = is_computed ? 4 : 0;
    running_.push_back(&prompt);
    return prompt;
  }
  /// Of so many rows of others, and those of the prompts that are not computed.
  double step(int num_rows = 0) {
    budget_.begin(true);
    Sequence others;
    others.tokens.assign(to_size(num_rows), 0);
    others.params.samples = false;
    if (num_rows > 0) budget_.take(others, num_rows);
    planned_.clear();
    beginning_.clear();
    for (Sequence* prompt : running_) {
      if (prompt->awaits_choices()) continue;
      const int rows = prompt->num_uncomputed();
      planned_.push_back({.sequence = prompt, .num_tokens = rows, .num_beginning = prompt->num_forks > 0 ? 1 : 0});
      budget_.take(*prompt, rows);
    }
    turns_.choose(running_, planned_, budget_, beginning_);
    return cost_.predict_ms(budget_.work());
  }
  /// Once more in the same step.
  void choose_again() { turns_.choose(running_, planned_, budget_, beginning_); }
  /// Choices of a prompt that begin in the step.
  int num_beginning(const Sequence& prompt) const {
    for (const ScheduledSequence& planned : planned_)
      if (planned.sequence == &prompt) return planned.num_beginning;
    for (const BeginningChoices& computed : beginning_)
      if (computed.prompt == &prompt) return computed.number;
    return 0;
  }

 private:
  const CostModel cost_ = make_cost();
  double step_ms_;
  StepBudget budget_{512, step_ms_, &cost_};
  ChoiceTurns turns_{64};
  std::deque<Sequence> sequences_;
  std::vector<Sequence*> running_;
  std::vector<ScheduledSequence> planned_;
  std::vector<BeginningChoices> beginning_;
};

TEST(ChoiceTurns, WithoutATargetAllBeginAtOnce) {
  Prompts prompts(0);
  const Sequence& prompt = prompts.add(128, 5, false);
  prompts.step();
  EXPECT_EQ(prompts.num_beginning(prompt), 128);
}

TEST(ChoiceTurns, WhatBeginsStillDoesWhereMoreIsPlannedInTheStep) {
  Prompts prompts(0);
  const Sequence &computed = prompts.add(5, 2, true), &planned = prompts.add(3, 2, false);
  prompts.step();
  prompts.choose_again();
  EXPECT_EQ(prompts.num_beginning(computed), 5);
  EXPECT_EQ(prompts.num_beginning(planned), 3);
}

TEST(ChoiceTurns, AsManyBeginAsTheTimeIsLeftFor) {
  Prompts prompts(20);
  const Sequence& prompt = prompts.add(128, 2, false);
  EXPECT_NEAR(prompts.step(), 19, 0.1) << "1 ms, 4 rows, 7 draws";
  EXPECT_EQ(prompts.num_beginning(prompt), 7);
  prompts.step(10);
  EXPECT_EQ(prompts.num_beginning(prompt), 2);
}

TEST(ChoiceTurns, PromptsThatAreComputedHaveThemByTurns) {
  Prompts prompts(21.5);
  const Sequence &first = prompts.add(128, 2, true), &second = prompts.add(3, 2, true),
                 &third = prompts.add(9, 2, true);
  EXPECT_NEAR(prompts.step(4), 21, 0.1);
  EXPECT_EQ(prompts.num_beginning(first), 3);
  EXPECT_EQ(prompts.num_beginning(second), 3);
  EXPECT_EQ(prompts.num_beginning(third), 2);
}

TEST(ChoiceTurns, BeforeADrawWasMeasuredNoMoreThanTwoBegin) {
  Prompts prompts(50);
  const Sequence& prompt = prompts.add(128, 0, false);
  prompts.step();
  EXPECT_EQ(prompts.num_beginning(prompt), ChoiceTurns::kUnmeasured);
}

TEST(ChoiceTurns, AFullStepHasRoomForATenthOfDrawsAndForOneWhateverItCosts) {
  Prompts prompts(10);
  Sequence &first = prompts.add(128, 1.9, true), &second = prompts.add(128, 1.9, true);
  EXPECT_NEAR(prompts.step(99), 109.5, 0.1);
  EXPECT_EQ(prompts.num_beginning(first) + prompts.num_beginning(second), 5) << "of 10 ms";
  first.draw_ms = second.draw_ms = 30;
  prompts.step(99);
  EXPECT_EQ(prompts.num_beginning(first) + prompts.num_beginning(second), 1);
}

TEST(ChoiceTurns, OtherSequencesBeginNothing) {
  Prompts prompts(50);
  Sequence& decoding = prompts.add(1, 1, true);
  decoding.tokens.push_back(0);
  const Sequence& single = prompts.add(1, 1, false);
  prompts.step();
  EXPECT_EQ(prompts.num_beginning(decoding), 0);
  EXPECT_EQ(prompts.num_beginning(single), 0) << "its one choice begins with its last row";
}

}  // namespace
}  // namespace octavo
