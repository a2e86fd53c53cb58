#include "engine/schedule/step_budget.h"

#include <gtest/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::make_cost;

Sequence make_prompt(int num_tokens, int num_computed = 0) {
  Sequence sequence;
  sequence.tokens.assign(to_size(num_tokens), 0);
  sequence.params.prompt_tokens = sequence.pending.prompt_logits_from = sequence.notes.num_admitted_tokens = num_tokens;
  sequence.num_computed = num_computed;
  return sequence;
}

TEST(StepBudget, RowsAreCountedDown) {
  StepBudget budget(10, 0, nullptr);
  budget.begin(false);
  EXPECT_FALSE(budget.is_timed());
  const Sequence prompt = make_prompt(100);
  EXPECT_EQ(budget.tokens_in_time(prompt, 10, 4), 10) << "nothing is predicted";
  budget.take(prompt, 7);
  EXPECT_EQ(budget.rows_left(), 3);
  budget.begin(false);
  EXPECT_EQ(budget.rows_left(), 10);
}

TEST(StepBudget, TimeCutsInWholeBlocks) {
  const CostModel cost = make_cost();  // 1 ms, and 1 ms a row
  StepBudget budget(512, 50, &cost);
  budget.begin(true);
  EXPECT_EQ(budget.tokens_in_time(make_prompt(300), 300, 4), 48);
  EXPECT_EQ(budget.tokens_in_time(make_prompt(300, 2), 298, 4), 46) << "up to the end of a block";
  EXPECT_EQ(budget.tokens_in_time(make_prompt(30), 30, 4), 30);
  budget.begin(false);
  EXPECT_EQ(budget.tokens_in_time(make_prompt(300), 300, 4), 76) << "80 ms where nobody waits for a token";
}

TEST(StepBudget, WhatIsSpentBeforehandIsNotThereForRows) {
  const CostModel cost = make_cost();  // 1 ms, and 1 ms a row
  StepBudget budget(512, 50, &cost);
  budget.begin(true, 1, 10);
  EXPECT_EQ(budget.tokens_in_time(make_prompt(300), 300, 4), 36) << "12 fewer: 39 rows in whole blocks";
  EXPECT_EQ(budget.work().draw_ms, 10);
  budget.begin(true);
  EXPECT_EQ(budget.work().draw_ms, 0);
}

TEST(StepBudget, FirstPromptGetsABlockWhateverItCosts) {
  const CostModel cost = make_cost();
  StepBudget budget(512, 2, &cost);
  budget.begin(true);
  const Sequence prompt = make_prompt(100, 1);
  EXPECT_EQ(budget.tokens_in_time(prompt, 99, 4), 3);
  budget.take(prompt, 3);
  EXPECT_TRUE(budget.has_prompt_rows());
  EXPECT_FALSE(budget.has_decode_rows());
  EXPECT_EQ(budget.tokens_in_time(prompt, 99, 4), 0);
}

TEST(StepBudget, EnginesThatHaveWorkShareTheTarget) {
  const CostModel cost = make_cost();  // 1 ms, and 1 ms a row
  StepBudget budget(512, 60, &cost);
  const auto rows = [&](bool decode_waiting, int num_engines) {
    budget.begin(decode_waiting, num_engines);
    return budget.tokens_in_time(make_prompt(300), 300, 1);
  };
  EXPECT_EQ(rows(true, 1), 59);
  EXPECT_EQ(rows(true, 2), 29);
  EXPECT_EQ(rows(true, 3), 19);
  EXPECT_EQ(rows(true, 1), 59) << "the others have nothing to do any more";
  EXPECT_EQ(rows(false, 1), 95);
  EXPECT_EQ(rows(false, 2), 29) << "somebody may wait for a token of the other one";
}

TEST(StepBudget, WithoutATargetEnginesShareNothing) {
  const CostModel cost = make_cost();
  StepBudget budget(512, 0, &cost);
  budget.begin(true, 3);
  EXPECT_FALSE(budget.is_timed());
  EXPECT_EQ(budget.tokens_in_time(make_prompt(300), 300, 4), 300);
}

TEST(StepBudget, FirstPromptGetsLessThanABlockWhereThatWouldSilenceOthersForTooLong) {
  const CostModel cost = make_cost();  // 1 ms, and 1 ms a row
  const auto rows = [&](double target_ms, int num_computed, bool decode_waiting, int num_engines) {
    StepBudget budget(512, target_ms, &cost);
    budget.begin(decode_waiting, num_engines);
    return budget.tokens_in_time(make_prompt(300, num_computed), 300 - num_computed, 16);
  };
  EXPECT_EQ(rows(5, 0, true, 1), 16) << "17 ms of 20";
  EXPECT_EQ(rows(4, 0, true, 1), 8) << "17 ms of 16";
  EXPECT_EQ(rows(2, 0, true, 1), 4) << "9 ms of 8";
  EXPECT_EQ(rows(1, 0, true, 1), 2) << "5 ms of 4";
  EXPECT_EQ(rows(0.5, 0, true, 1), 4) << "3 ms of 2: two rows would spare nobody";
  EXPECT_EQ(rows(0.1, 0, true, 1), 4);
  EXPECT_EQ(rows(0.1, 14, true, 1), 2) << "no more than to the end of the block";
  EXPECT_EQ(rows(2, 4, true, 1), 4) << "12, then 8 are too many";
  EXPECT_EQ(rows(2, 0, false, 1), 16) << "nobody waits";
  EXPECT_EQ(rows(4, 0, false, 2), 8) << "somebody may wait for a token of the other engine";
  EXPECT_EQ(rows(5, 0, true, 2), 16) << "17 ms of 20, less the other one's 2.5";
  EXPECT_EQ(rows(4.8, 0, true, 1), 16) << "17 ms of 19.2";
  EXPECT_EQ(rows(4.8, 0, true, 2), 8) << "17 ms of 19.2, less the other one's 2.4";
}

TEST(StepBudget, FirstPromptsRowsAndThoseOfDecodesAreTilesOfKernels) {
  const CostModel cost = make_cost();  // 1 ms, and 1 ms a row
  Sequence answer = make_prompt(5, 5);
  answer.tokens.push_back(0);
  const auto rows = [&](double target_ms, int num_decodes) {
    StepBudget budget(512, target_ms, &cost);
    budget.begin(true);
    for (int i = 0; i < num_decodes; ++i) budget.take(answer, 1);
    return budget.tokens_in_time(make_prompt(300), 300, 16);
  };
  EXPECT_EQ(rows(4.5, 3), 13) << "20 ms of 18";
  EXPECT_EQ(rows(3, 3), 5) << "17 ms of 12";
  EXPECT_EQ(rows(1.5, 1), 3) << "9 ms of 6";
  EXPECT_EQ(rows(1.5, 2), 2) << "9 ms of 6";
  EXPECT_EQ(rows(1.5, 3), 5) << "9 ms of 6, and a row alone is too few: eight rows, not seven";
  EXPECT_EQ(rows(1.5, 4), 4);
  EXPECT_EQ(rows(1.5, 5), 4);
}

TEST(StepBudget, SequenceThatDoesNotCatchUpHasDecodeRows) {
  StepBudget budget(10, 0, nullptr);
  budget.begin(true);
  Sequence answer = make_prompt(5, 5);
  answer.tokens.push_back(0);
  budget.take(answer, 1);
  EXPECT_TRUE(budget.has_decode_rows());
  EXPECT_FALSE(budget.has_prompt_rows());
}

}  // namespace
}  // namespace octavo
