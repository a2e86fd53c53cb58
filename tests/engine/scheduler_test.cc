#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <tuple>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Scheduler, NothingToDoGivesAnEmptyPlan) {
  Harness harness({}, {.num_blocks = 4});
  EXPECT_THAT(harness.step(), IsEmpty());
}

TEST(Scheduler, LongPromptIsReadInChunksOfTheStepsBudget) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 16});
  harness.add(20, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
  EXPECT_TRUE(harness.scheduler().empty());
  EXPECT_EQ(harness.pool().free_count(), 16);
}

TEST(Scheduler, DecodeRowsComeFirstThenThePromptWithFewestTokensLeft) {
  Harness harness({.max_step_tokens = 10, .max_sequences = 8}, {.num_blocks = 64});
  harness.add(3, 9);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 3)));
  harness.add(30, 4);
  harness.add(6, 4);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(3, 6), Pair(2, 3)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(3, 1), Pair(2, 8)));
}

TEST(Scheduler, PromptsOfEqualLengthGoOldestFirst) {
  Harness harness({.max_step_tokens = 5, .max_sequences = 5}, {.num_blocks = 64});
  harness.add(4, 2);
  harness.add(4, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4), Pair(2, 1)));
}

TEST(Scheduler, PromptPassedOverTooOftenGoesFirst) {
  Harness harness({.max_step_tokens = 4, .max_sequences = 4}, {.num_blocks = 64});
  harness.add(30, 2);
  int steps = 0;
  for (bool served = false; !served; ++steps) {
    ASSERT_LT(steps, 3 * Scheduler::kMaxStepsWaited);
    harness.add(4, 1);  // a fresh short prompt every step takes the whole budget
    for (const auto& [id, tokens] : harness.step()) served = served || id == 1;
  }
  EXPECT_EQ(steps, Scheduler::kMaxStepsWaited + 1);
}

TEST(Scheduler, NoMoreSequencesAdvanceThanTheLimit) {
  Harness harness({.max_step_tokens = 100, .max_sequences = 3}, {.num_blocks = 64});
  for (int i = 0; i < 5; ++i) harness.add(2, 3);
  EXPECT_EQ(harness.step().size(), 3U);
  EXPECT_EQ(harness.scheduler().num_waiting(), 2);
}

TEST(Scheduler, EveryAdmittedSequenceAdvancesEvenWhenStepsAreSmall) {
  Harness harness({.max_step_tokens = 2, .max_sequences = 256}, {.num_blocks = 64});
  for (int i = 0; i < 4; ++i) harness.add(1, 5);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
}

TEST(Scheduler, WaitsAtAdmissionUntilAllItsTokensAndOneBlockFit) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 4});
  Sequence& first = harness.add(8, 4);  // 2 blocks now, 3 in the end
  const Sequence& second = harness.add(8, 8);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_TRUE(harness.is_running(first));
  EXPECT_FALSE(harness.is_running(second));  // 2 blocks are free, it asks for 3
  EXPECT_EQ(harness.num_blocks(second), 0);
  harness.remove(first);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 8)));
}

TEST(Scheduler, SequenceThatNeverGrowsIsAdmittedWithoutASpareBlock) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 2});
  harness.add(6, 3);  // 8 tokens in the end: both blocks, at once
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 6)));
}

TEST(Scheduler, YoungerShortPromptDoesNotOvertakeAtAdmission) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 4});
  harness.add(8, 2);
  harness.add(12, 2);
  harness.add(1, 2);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_EQ(harness.scheduler().num_waiting(), 2);
}

TEST(Scheduler, SequenceThatCannotGrowTakesTailBlocksOfTheYoungest) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 5});
  const Sequence& first = harness.add(4, 13);
  const Sequence& second = harness.add(4, 13);
  EXPECT_EQ(harness.step().size(), 2U);  // one block each, one spare each
  EXPECT_EQ(harness.step().size(), 2U);  // two blocks each
  while (harness.scheduler().num_preemptions() == 0) ASSERT_FALSE(harness.step().empty());
  EXPECT_TRUE(harness.is_running(first));
  EXPECT_FALSE(harness.is_running(second));
  EXPECT_EQ(second.num_computed, 8);  // of three blocks one was needed, and two are kept
  EXPECT_EQ(harness.num_blocks(second), 2);
  EXPECT_EQ(harness.scheduler().num_preempted_blocks(), 0U);
  const int tokens = second.num_tokens();
  EXPECT_TRUE(harness.intact());
  while (!harness.is_running(second)) {
    ASSERT_FALSE(harness.step().empty());
    if (harness.sequences().size() == 1) break;
  }
  EXPECT_EQ(second.num_tokens(), tokens);
  EXPECT_EQ(second.num_computed, 4);  // meanwhile the first took one more
  EXPECT_EQ(harness.scheduler().num_preempted_blocks(), 1U);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, tokens - 4)));  // what it lost, in one go
}

TEST(Scheduler, YoungestThatCannotGrowGoesItself) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 4});
  harness.add(4, 5);  // grows into a second block, the last free one
  harness.add(2, 3);  // stays within one
  const Sequence& youngest = harness.add(4, 5);
  EXPECT_EQ(harness.step().size(), 3U);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_FALSE(harness.is_running(youngest));
  EXPECT_EQ(harness.scheduler().num_preemptions(), 1U);
  EXPECT_EQ(youngest.num_tokens(), 5);
}

TEST(Scheduler, RemovingGivesAllBlocksBackInEveryState) {
  Harness harness({.max_step_tokens = 6, .max_sequences = 4}, {.num_blocks = 8, .windows = {0, 9}});
  Sequence& running = harness.add(4, 9);
  Sequence& chunked = harness.add(12, 9);
  Sequence& waiting = harness.add(20, 9);
  harness.step();
  EXPECT_TRUE(harness.intact());
  harness.remove(waiting);
  harness.remove(chunked);
  harness.remove(running);
  EXPECT_EQ(harness.pool().free_count(), 8);
  EXPECT_TRUE(harness.scheduler().empty());
}

TEST(SchedulerDeathTest, SequenceThatCouldNeverFitIsABugOfTheCaller) {
  Harness harness({}, {.num_blocks = 4});
  EXPECT_DEATH(harness.add(16, 2), "17 tokens, the cache holds 16");
}

TEST(Scheduler, C8_every_prompt_row_is_a_chunk_of_next_action) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 32});
  harness.add(2, 12);
  harness.step();
  Sequence& prompt = harness.add(20, 3);
  std::vector<std::pair<int, int>> chunks;
  while (prompt.num_computed < 20) {
    const std::vector<ScheduledSequence> plan = harness.schedule();
    ASSERT_EQ(plan.size(), 2U);
    EXPECT_EQ(plan[0].chunk.size(), 0) << "the decode had its turn in this very step";
    const PrefillChunk& chunk = plan[1].chunk;
    EXPECT_EQ(chunk.index, static_cast<int>(chunks.size())) << "the next chunk of the same PrefillScheduler";
    EXPECT_EQ(chunk.size(), plan[1].num_tokens);
    EXPECT_EQ(chunk.start, prompt.num_computed);
    EXPECT_EQ(chunk.tokens.data(), prompt.tokens.data() + chunk.start) << "a view of the sequence's own tokens";
    EXPECT_EQ(chunk.is_last, chunk.end == 20);
    EXPECT_EQ(prompt.prefill->num_computed(), chunk.start) << "counted when computed, not when handed out";
    chunks.emplace_back(chunk.start, chunk.end);
    harness.complete(plan);
    EXPECT_EQ(prompt.prefill->num_computed(), chunk.end);
  }
  EXPECT_THAT(chunks, ElementsAre(Pair(0, 7), Pair(7, 14), Pair(14, 20)));
  EXPECT_TRUE(prompt.prefill->is_complete());
}

RC_GTEST_PROP(Scheduler, EverySequenceEndsAndEveryBlockIsAccountedFor, ()) {
  const int block_size = 1 << *rc::gen::inRange(0, 4);
  const int num_blocks = *rc::gen::inRange(2, 20);
  const int window = *rc::gen::inRange(1, 40);
  const auto windows = *rc::gen::elementOf(std::vector<std::vector<int>>{{0}, {0, window}, {window}});
  const Scheduler::Limits limits{
      .max_step_tokens = *rc::gen::inRange(1, 20),
      .max_sequences = *rc::gen::inRange(1, 8),
      .policy = *rc::gen::element(PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved,
                                  PrefillPriority::kDecodePriority)};
  Harness harness(limits, {.num_blocks = num_blocks,
                           .block_size = block_size,
                           .windows = windows,
                           .prefix_cache = *rc::gen::arbitrary<bool>()});
  const auto arrivals = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(1, 40), rc::gen::inRange(1, 40), rc::gen::inRange(0, 3)));
  const auto gap = *rc::gen::inRange(0, 4);
  int steps = 0;
  const auto step = [&] {
    const auto rows = harness.step();
    int tokens = 0;
    std::set<RequestId> seen;
    for (const auto& [id, count] : rows) {
      RC_ASSERT(count >= 1);
      RC_ASSERT(seen.insert(id).second);
      tokens += count;
    }
    RC_ASSERT(tokens <= limits.max_step_tokens);
    RC_ASSERT(static_cast<int>(rows.size()) <= limits.max_sequences);
    RC_ASSERT(harness.intact());
    RC_ASSERT(++steps < 100'000);
  };
  for (const auto& [prompt, generated, first_token] : arrivals) {
    if (prompt + generated - 1 > harness.kv().max_sequence_tokens()) continue;
    harness.add(prompt, generated, first_token, generated % 5 - 2);
    for (int i = 0; i < gap; ++i) step();
  }
  while (!harness.scheduler().empty()) step();
  RC_ASSERT(harness.sequences().empty());
  RC_ASSERT(harness.pool().free_count() == num_blocks);
}

}  // namespace
}  // namespace octavo
