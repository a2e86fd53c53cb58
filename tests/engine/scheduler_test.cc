#include "engine/schedule/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/scheduler_harness.h"
#include "octavo/kv/prefill.h"

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
  while (harness.scheduler().counts().preemptions == 0) ASSERT_FALSE(harness.step().empty());
  EXPECT_TRUE(harness.is_running(first));
  EXPECT_FALSE(harness.is_running(second));
  EXPECT_EQ(second.num_computed, 8);  // of three blocks one was needed, and two are kept
  EXPECT_EQ(harness.num_blocks(second), 2);
  EXPECT_EQ(harness.scheduler().counts().preempted_blocks, 0U);
  const int tokens = second.num_tokens();
  EXPECT_TRUE(harness.intact());
  while (!harness.is_running(second)) {
    ASSERT_FALSE(harness.step().empty());
    if (harness.sequences().size() == 1) break;
  }
  EXPECT_EQ(second.num_tokens(), tokens);
  EXPECT_EQ(second.num_computed, 4);  // meanwhile the first took one more
  EXPECT_EQ(harness.scheduler().counts().preempted_blocks, 1U);
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
  EXPECT_EQ(harness.scheduler().counts().preemptions, 1U);
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

/// The chunks that the engine makes of a prompt of 40 tokens beside a decode are those that a PrefillScheduler of the
/// same policy hands out for the same room, yields included. Gives the chunks, 0 for a step without one.
std::vector<int> chunks_beside_next_action(PrefillPriority policy, bool decodes) {
  constexpr int kRows = 8, kPrompt = 40;
  Harness harness({.max_step_tokens = kRows, .max_sequences = 4, .policy = policy}, {.num_blocks = 64});
  if (decodes) {
    harness.add(2, 90);
    harness.step();
  }
  const Sequence& prompt = harness.add(kPrompt, 3);
  const std::vector<TokenId> tokens(kPrompt, 0);
  PrefillScheduler alone = PrefillScheduler::create(tokens, PrefillConfig(kRows).with_priority(policy)).value();
  std::vector<int> chunks;
  while (prompt.num_computed < kPrompt) {
    const int room = decodes && policy != PrefillPriority::kPrefillFirst ? kRows - 1 : kRows;
    PrefillAction action = alone.next_action(room, decodes);
    // Under kInterleaved the decode has its turn in the same step.
    const bool yields = action.kind == PrefillAction::kYieldToDecode;
    if (yields && policy == PrefillPriority::kInterleaved) action = alone.next_action(room, decodes);
    const std::vector<ScheduledSequence> plan = harness.schedule();
    const auto found = std::ranges::find(plan, &prompt, &ScheduledSequence::sequence);
    chunks.push_back(found == plan.end() ? 0 : found->num_tokens);
    EXPECT_EQ(chunks.back(), action.chunk.size()) << "step " << chunks.size();
    if (action.kind == PrefillAction::kPrefill) {
      EXPECT_EQ(action.chunk.start, prompt.num_computed);
      alone.complete(action.chunk);
    }
    harness.complete(plan);
    EXPECT_EQ(alone.num_computed(), prompt.num_computed);
    if (chunks.size() > 100) break;
  }
  EXPECT_TRUE(alone.is_complete());
  return chunks;
}

TEST(Scheduler, C8_the_engines_chunks_and_those_of_next_action_come_from_one_function) {
  EXPECT_THAT(chunks_beside_next_action(PrefillPriority::kPrefillFirst, true), ElementsAre(8, 8, 8, 8, 8));
  EXPECT_THAT(chunks_beside_next_action(PrefillPriority::kInterleaved, true), ElementsAre(7, 7, 7, 7, 7, 5));
  std::vector<int> aged;
  for (const int rows : {7, 7, 7, 7, 7, 5}) {
    aged.insert(aged.end(), 8, 0);  // PrefillConfig::max_yields
    aged.push_back(rows);
  }
  EXPECT_EQ(chunks_beside_next_action(PrefillPriority::kDecodePriority, true), aged);
  for (const PrefillPriority policy :
       {PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved, PrefillPriority::kDecodePriority})
    EXPECT_THAT(chunks_beside_next_action(policy, false), ElementsAre(8, 8, 8, 8, 8));
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
