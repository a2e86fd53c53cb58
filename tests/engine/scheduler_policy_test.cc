// The division of a step: policies, priorities, and the budget of predicted time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using test::make_cost;
using ::testing::ElementsAre;
using ::testing::Pair;
using Rows = std::vector<std::pair<RequestId, int>>;

/// One request decodes, then two prompts of 24 and 40 tokens come; each policy's first steps from then on.
std::vector<Rows> trace(PrefillPriority policy, int steps) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4, .policy = policy}, {.num_blocks = 64});
  harness.add(2, 100);
  harness.step();
  harness.add(24, 3);
  harness.add(40, 3);
  std::vector<Rows> rows;
  for (int i = 0; i < steps; ++i) rows.push_back(harness.step());
  return rows;
}

TEST(Policies, PrefillFirstGivesTheStepToPromptsAndTheRestToDecodes) {
  EXPECT_THAT(trace(PrefillPriority::kPrefillFirst, 4),
              ElementsAre(Rows{{2, 16}}, Rows{{2, 8}, {3, 8}}, Rows{{3, 16}}, Rows{{3, 16}}));
}

TEST(Policies, InterleavedPutsEveryDecodeIntoEachStepAndFillsItWithPrompts) {
  EXPECT_THAT(trace(PrefillPriority::kInterleaved, 4),
              ElementsAre(Rows{{1, 1}, {2, 15}}, Rows{{1, 1}, {2, 9}, {3, 6}}, Rows{{1, 1}, {2, 1}, {3, 14}},
                          Rows{{1, 1}, {2, 1}, {3, 14}}));
}

TEST(Policies, DecodePriorityReadsPromptsOnlyWhereTheyHaveAged) {
  const std::vector<Rows> rows = trace(PrefillPriority::kDecodePriority, 9);
  for (int i = 0; i < 8; ++i) EXPECT_THAT(rows[static_cast<std::size_t>(i)], ElementsAre(Pair(1, 1))) << i;
  EXPECT_THAT(rows[8], ElementsAre(Pair(1, 1), Pair(2, 15))) << "PrefillConfig::max_yields were enough";
}

TEST(Policies, DecodePriorityReadsPromptsAtOnceWhereNobodyDecodes) {
  Harness harness({.max_step_tokens = 16, .policy = PrefillPriority::kDecodePriority}, {.num_blocks = 64});
  harness.add(24, 3);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 16)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
}

TEST(Policies, PrefillFirstDoesNotStarveADecode) {
  Harness harness({.max_step_tokens = 4, .max_sequences = 4, .policy = PrefillPriority::kPrefillFirst},
                  {.num_blocks = 64});
  const Sequence& decoder = harness.add(2, 100);
  harness.step();
  int steps = 0;
  for (const int tokens = decoder.num_tokens(); decoder.num_tokens() == tokens; ++steps) {
    ASSERT_LT(steps, 3 * Scheduler::kMaxStepsWaited);
    harness.add(4, 1);  // a fresh prompt every step takes the whole budget
    harness.step();
  }
  EXPECT_EQ(steps, Scheduler::kMaxStepsWaited + 1);
}

TEST(Policies, EachEndsEveryRequest) {
  for (const PrefillPriority policy :
       {PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved, PrefillPriority::kDecodePriority}) {
    Harness harness({.max_step_tokens = 7, .max_sequences = 5, .policy = policy},
                    {.num_blocks = 12, .prefix_cache = true});
    for (int i = 0; i < 20; ++i) harness.add(1 + i, 20, i % 3);
    for (int steps = 0; !harness.scheduler().empty(); ++steps) {
      harness.step();
      ASSERT_TRUE(harness.intact());
      ASSERT_LT(steps, 5000);
    }
    EXPECT_EQ(harness.pool().free_count(), 12);
  }
}

TEST(Priority, HigherIsAdmittedAndReadBeforeOlder) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 2}, {.num_blocks = 64});
  harness.add(8, 3);
  harness.add(8, 3);
  harness.add(8, 3, -1, 5);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(3, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(3, 1), Pair(1, 7)));
  EXPECT_FALSE(Harness::is_running(*harness.sequences().at(2))) << "of two places one is the third's, one the first's";
}

TEST(Priority, OfOnePriorityTheOlderGoesFirst) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 8}, {.num_blocks = 64});
  for (int i = 0; i < 3; ++i) harness.add(8, 3, -1, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
}

TEST(Priority, WaitingLongOutweighsADegreeOfPriority) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 1}, {.num_blocks = 512});
  const Sequence& patient = harness.add(4, 2);
  bool ran = false;
  int steps = 0;
  for (; !ran; ++steps) {
    ASSERT_LT(steps, 4 * kStepsPerPriority);
    harness.add(4, 1, -1, 1);  // each of them goes before it, if only it came soon enough
    harness.step();
    ran = Harness::is_running(patient);
  }
  EXPECT_NEAR(steps, kStepsPerPriority, 3);
}

TEST(Priority, NewcomerOfHigherPriorityTakesMemoryOfLower) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 8});
  const Sequence& low = harness.add(24, 8);
  harness.step();
  const Sequence& equal = harness.add(12, 4);
  harness.step();
  EXPECT_FALSE(Harness::is_running(equal)) << "age alone takes nothing from those that run";
  const Sequence& high = harness.add(12, 4, -1, 1);
  harness.step();
  EXPECT_TRUE(Harness::is_running(high));
  EXPECT_FALSE(Harness::is_running(low));
  EXPECT_EQ(harness.num_blocks(low), 4)
      << "of seven blocks three, no more than was needed beside the one that was free";
  EXPECT_TRUE(harness.intact());
  while (!harness.scheduler().empty()) {
    harness.step();
    ASSERT_TRUE(harness.intact());
  }
}

TEST(Priority, NewcomerIsAdmittedOnceThoseOfLowerHoldEnough) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 10});
  const Sequence& low = harness.add(4, 33);
  const RequestId equal = harness.add(1, 8, -1, 1).params.id;
  harness.step();
  const Sequence& high = harness.add(36, 4, -1, 1);
  while (harness.sequences().contains(equal)) {
    EXPECT_FALSE(Harness::is_running(high));
    harness.step();
  }
  harness.step();
  EXPECT_TRUE(Harness::is_running(high));
  EXPECT_FALSE(Harness::is_running(low));
  while (!harness.scheduler().empty()) {
    harness.step();
    ASSERT_TRUE(harness.intact());
  }
}

TEST(TimeBudget, ChunkIsCutInWholeBlocksToWhatTheTargetLeaves) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 512, .max_sequences = 8, .step_ms = 50}, {.num_blocks = 256}, &cost);
  harness.add(2, 100);
  harness.step();
  harness.add(300, 3);
  // 1 ms for the step and 1 ms for the decode row leave 48 rows, all in whole blocks of 4.
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 48)));
  EXPECT_NEAR(cost.predict_ms(harness.plan().budget.work()), 50, 1);
}

TEST(TimeBudget, WhereNobodyWaitsForATokenAStepMayTakeLonger) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 512, .max_sequences = 8, .step_ms = 50}, {.num_blocks = 256}, &cost);
  harness.add(300, 3);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 76)));  // 80 ms
}

TEST(TimeBudget, RowsOfAPromptWhoseLogitsAreWantedCountWithTheirLogits) {
  CostModel cost({});  // a step 1 ms, a row 1 ms, a row of logits 3 ms
  for (int i = 0; i < 50; ++i)
    for (const auto& [rows, logits] : {std::pair{1, 1}, {4, 1}, {16, 16}, {64, 1}, {64, 64}, {200, 1}})
      cost.observe(cost.work(0, rows, logits), 1.0 + rows + 3 * logits);
  Harness harness({.max_step_tokens = 512, .max_sequences = 8, .step_ms = 50}, {.num_blocks = 256}, &cost);
  harness.add(2, 100);
  harness.step();
  harness.add(300, 3).pending.prompt_logits_from = 0;
  // The step and the decode row take 5 ms. The rest has room for 11 rows with logits, 8 of them in whole blocks.
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 8)));
  EXPECT_EQ(harness.plan().budget.work().logit_rows, 9);
  EXPECT_LE(cost.predict_ms(harness.plan().budget.work()), 50);
}

TEST(TimeBudget, WhereDecodesAloneTakeLongerAPromptStillGetsABlockAStep) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 64, .max_sequences = 32, .step_ms = 5}, {.num_blocks = 256}, &cost);
  for (int i = 0; i < 10; ++i) harness.add(1, 100);
  for (int i = 0; i < 5; ++i) harness.step();
  harness.add(40, 3);
  harness.add(44, 3);
  Rows rows = harness.step();
  ASSERT_EQ(rows.size(), 11U);
  EXPECT_THAT(rows.back(), Pair(11, 4));
}

TEST(TimeBudget, PromptsGoOnWithinABlockWhereAWholeOneWouldSilenceReaders) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 64, .max_sequences = 32, .step_ms = 2},
                  {.num_blocks = 256, .block_size = 16, .prefix_cache = true}, &cost);
  harness.add(1, 100);
  harness.step();
  harness.add(40, 3, 7);
  harness.add(40, 3, 7);                                       // it waits for the block that is half done
  for (const int num_rows : {3, 3, 3, 3, 4, 3, 3, 3, 3, 4}) {  // to the end of each block
    const Rows rows = harness.step();
    ASSERT_THAT(rows, ElementsAre(Pair(1, 1), Pair(2, num_rows)));
    ASSERT_TRUE(harness.intact());
  }
}

TEST(TimeBudget, StepIsTheShorterTheMoreEnginesHaveWork) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 512, .max_sequences = 8, .step_ms = 60}, {.num_blocks = 256}, &cost);
  harness.add(2, 100);
  harness.step();
  harness.add(300, 3);
  EXPECT_THAT(harness.step(2), ElementsAre(Pair(1, 1), Pair(2, 28)));
  EXPECT_THAT(harness.step(3), ElementsAre(Pair(1, 1), Pair(2, 16)));
  EXPECT_THAT(harness.step(1), ElementsAre(Pair(1, 1), Pair(2, 56)));
}

TEST(TimeBudget, PrefillFirstLeavesDecodesOutWhenTheTimeIsUsed) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 512, .max_sequences = 8, .step_ms = 50, .policy = PrefillPriority::kPrefillFirst},
                  {.num_blocks = 256}, &cost);
  harness.add(2, 100);
  harness.step();
  harness.add(300, 3);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 48), Pair(1, 1)));
}

TEST(TimeBudget, NoneMeansThatRowsAloneBoundAStep) {
  const CostModel cost = make_cost();
  Harness harness({.max_step_tokens = 512, .max_sequences = 8, .step_ms = 0}, {.num_blocks = 256}, &cost);
  harness.add(600, 3);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 512)));
}

}  // namespace
}  // namespace octavo
