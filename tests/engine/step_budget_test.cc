#include "engine/step_budget.h"

#include <gtest/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::make_cost;

Sequence make_prompt(int num_tokens, int num_computed = 0) {
  Sequence sequence;
  sequence.tokens.assign(to_size(num_tokens), 0);
  sequence.asked.prompt_tokens = sequence.owed.prompt_logits_from = sequence.notes.num_admitted_tokens = num_tokens;
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
