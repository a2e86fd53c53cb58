// Memory that is not enough for all: who gives way, by how much, and that everybody ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using ::testing::ElementsAre;
using ::testing::Pair;

int run_to_end(Harness& harness) {
  int steps = 0;
  for (; !harness.scheduler().empty() && steps < 10'000; ++steps) {
    harness.step();
    EXPECT_TRUE(harness.intact());
  }
  EXPECT_TRUE(harness.scheduler().empty());
  return steps;
}

TEST(Preemption, TakesOneBlockWhereOneIsMissing) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 6});
  const Sequence& old = harness.add(8, 9);     // grows from two blocks to four
  const Sequence& young = harness.add(12, 5);  // three, and one to grow
  harness.step();
  while (harness.scheduler().counts().preempted_blocks == 0) ASSERT_FALSE(harness.step().empty());
  EXPECT_EQ(harness.num_blocks(old), 4);
  EXPECT_EQ(harness.num_blocks(young), 2);
  EXPECT_EQ(young.num_computed, 8);
  EXPECT_TRUE(harness.intact());
  run_to_end(harness);
}

TEST(Preemption, GoesOnOnlyWhenWhatItLostAndOneBlockMoreFit) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 6});
  const Sequence& old = harness.add(8, 9);
  const Sequence& young = harness.add(12, 8);
  harness.step();
  while (harness.scheduler().counts().preempted_blocks == 0) ASSERT_FALSE(harness.step().empty());
  while (harness.sequences().size() == 2) {
    if (Harness::is_running(young)) {
      const int lost = (young.num_tokens() + 3) / 4 - 2;
      EXPECT_GE(harness.pool().total_count() - harness.num_blocks(old) - 2, lost + 1);
    }
    ASSERT_FALSE(harness.step().empty());
  }
  EXPECT_LE(harness.scheduler().counts().preemptions, 2U);
  run_to_end(harness);
}

TEST(Preemption, WorstRankGivesFirstAndTheBestIsNeverAVictim) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 8}, {.num_blocks = 16});
  for (int i = 0; i < 5; ++i) harness.add(8, 40);
  while (!harness.scheduler().empty()) {
    std::map<RequestId, int> before;
    for (const auto& [id, sequence] : harness.sequences())
      if (Harness::is_running(*sequence)) before[id] = sequence->num_preemptions;
    const RequestId best = harness.sequences().begin()->first;
    harness.step();
    ASSERT_TRUE(harness.intact());
    RequestId best_victim = 0, worst_left = 0;
    for (const auto& [id, sequence] : harness.sequences()) {
      if (!before.contains(id)) continue;
      const bool is_victim = sequence->num_preemptions > before[id];
      if (is_victim && best_victim == 0) best_victim = id;
      if (!is_victim) worst_left = id;
    }
    ASSERT_NE(best_victim, best);
    ASSERT_TRUE(best_victim == 0 || worst_left < best_victim);
  }
  EXPECT_GT(harness.scheduler().counts().preemptions, 0U);
}

TEST(Preemption, BlocksThatOthersHoldAsWellAreNotCounted) {
  // Two say the same, so that they share every block that is full. The oldest needs one.
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 11, .prefix_cache = true});
  harness.add(12, 14, 1);
  harness.step();
  harness.add(14, 20, 7);
  const Sequence& sharer = harness.add(14, 20, 7);
  harness.step();
  harness.step();
  while (harness.scheduler().counts().preempted_blocks == 0) ASSERT_FALSE(harness.step().empty());
  EXPECT_EQ(harness.num_blocks(sharer), 4) << "they would not be free if it gave them back";
  EXPECT_TRUE(harness.intact());
  run_to_end(harness);
}

TEST(Preemption, WaitingSequencesGiveWhatTheyStillHold) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 8});
  const Sequence& old = harness.add(8, 25);  // all eight blocks in the end
  const Sequence& young = harness.add(12, 20);
  while (old.num_tokens() < 30) {
    ASSERT_FALSE(harness.step().empty());
    ASSERT_TRUE(harness.intact());
  }
  EXPECT_FALSE(Harness::is_running(young));
  EXPECT_LE(harness.num_blocks(young), 1);
  EXPECT_EQ(old.num_preemptions, 0);
  run_to_end(harness);
}

TEST(Preemption, OfAWindowedSequenceTakesAllOfItWhereItCannotBeShorter) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 14, .windows = {0, 6}});
  harness.add(16, 40);
  const Sequence& young = harness.add(20, 30);
  harness.step();
  while (harness.scheduler().counts().preempted_blocks == 0) ASSERT_FALSE(harness.step().empty());
  EXPECT_EQ(young.num_computed, 0);
  EXPECT_TRUE(harness.intact());
  run_to_end(harness);
}

TEST(Preemption, TwoThatDoNotFitTogetherDoNotChaseEachOther) {
  for (int blocks = 5; blocks < 12; ++blocks) {
    Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = blocks});
    for (int i = 0; i < 2; ++i) harness.add(4, 4 * blocks - 4);
    run_to_end(harness);
    EXPECT_LE(harness.scheduler().counts().preemptions, 4U) << blocks;
    EXPECT_LE(harness.scheduler().counts().computed_tokens, static_cast<std::uint64_t>(3 * 4 * blocks)) << blocks;
  }
}

// Of any number that together want far more than there is, none is computed over and over.
RC_GTEST_PROP(Preemption, WorkThatIsDoneAgainIsBounded, ()) {
  const int num_blocks = *rc::gen::inRange(4, 24), count = *rc::gen::inRange(2, 10);
  Harness harness({.max_step_tokens = *rc::gen::inRange(4, 64), .max_sequences = 8}, {.num_blocks = num_blocks});
  std::uint64_t needed = 0;
  for (int i = 0; i < count; ++i) {
    const int prompt = *rc::gen::inRange(1, 2 * num_blocks), answer = *rc::gen::inRange(1, 2 * num_blocks);
    harness.add(prompt, answer, -1, *rc::gen::inRange(-1, 2));
    needed += static_cast<std::uint64_t>(prompt + answer - 1);
  }
  for (int steps = 0; !harness.scheduler().empty(); ++steps) {
    harness.step();
    RC_ASSERT(harness.intact());
    RC_ASSERT(steps < 10'000);
  }
  RC_ASSERT(harness.scheduler().counts().computed_tokens <= 4 * needed);
}

}  // namespace
}  // namespace octavo
