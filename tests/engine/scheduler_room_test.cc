// The scheduler's promises: cached prefixes, windows that give blocks back, places of choices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Scheduler, PromptBeginsBehindItsCachedPrefix) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 16, .prefix_cache = true});
  harness.add(14, 2, 7);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 14)));
  const Sequence& same = harness.add(14, 2, 7);
  const std::vector<ScheduledSequence> plan = harness.schedule();
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[1].sequence, &same);
  EXPECT_EQ(same.num_computed, 12);
  EXPECT_EQ(plan[1].num_tokens, 2);
  EXPECT_EQ(same.cached_tokens, 12);
  EXPECT_TRUE(harness.intact());
  harness.complete(plan);
  EXPECT_EQ(harness.scheduler().counts().cached_tokens, 12U);
  EXPECT_EQ(harness.scheduler().counts().computed_tokens, 14U + 1 + 2);
}

TEST(Scheduler, PromptWithoutRowsLooksAgainWhenOthersHavePublished) {
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 32, .prefix_cache = true});
  harness.add(24, 4, 7);
  const Sequence& same = harness.add(24, 4, 7);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_TRUE(harness.is_running(same));
  EXPECT_EQ(same.num_computed, 0);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_EQ(same.num_computed, 8);  // found while the first was still in its prefill
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 4)));  // 20 of 24 tokens
  EXPECT_TRUE(harness.intact());
}

TEST(Scheduler, BlocksFoundInTheCacheCountAsRoomOnceOnly) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 6, .prefix_cache = true});
  Sequence& first = harness.add(12, 2, 7);  // 3 blocks, 4 in the end
  harness.step();
  harness.remove(first);
  harness.add(10, 2, 9);
  harness.step();                                // 3 free blocks are left, all cached
  const Sequence& same = harness.add(16, 5, 7);  // attaches 3, needs 1, and 1 to grow
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 1)));
  EXPECT_FALSE(harness.is_running(same));
  EXPECT_EQ(same.num_computed, 0);
  EXPECT_EQ(harness.num_blocks(same), 0);  // it let go of what it attached
  EXPECT_TRUE(harness.intact());
  harness.step();
  EXPECT_TRUE(harness.is_running(same));
  EXPECT_EQ(same.cached_tokens, 12);
}

TEST(Scheduler, PromisedBlocksAreNotTakenByDecodes) {
  Harness harness({.max_step_tokens = 4, .max_sequences = 4}, {.num_blocks = 8});
  const Sequence& reader = harness.add(16, 4);
  const Sequence& decoder = harness.add(3, 20);
  while (reader.num_computed < 16) {
    ASSERT_FALSE(harness.step().empty());
    ASSERT_TRUE(harness.intact());
  }
  EXPECT_EQ(harness.scheduler().counts().preemptions, 0U);
  EXPECT_TRUE(harness.is_running(decoder));
}

TEST(Scheduler, LongPromptRunsInAWindowedPoolSmallerThanItself) {
  Harness harness({.max_step_tokens = 32, .max_sequences = 4}, {.num_blocks = 5, .windows = {6}});
  const Sequence& sequence = harness.add(100, 3);
  std::vector<int> chunks;
  while (sequence.num_computed < 100) {
    const std::vector<std::pair<RequestId, int>> rows = harness.step();
    ASSERT_EQ(rows.size(), 1U);
    chunks.push_back(rows[0].second);
    ASSERT_TRUE(harness.intact());
  }
  EXPECT_EQ(chunks.front(), 20);                       // all five blocks
  EXPECT_THAT(chunks, testing::Each(testing::Ge(4)));  // two blocks of the window stay, three move on
  EXPECT_LE(harness.pool().total_count() - harness.pool().free_count(), 2);
}

TEST(Scheduler, WindowedPromptsAreAdmittedByWhatTheyHoldAtOneTime) {
  // Each holds at most 6 - 1 + 8 positions, in 4 blocks.
  Harness harness({.max_step_tokens = 8, .max_sequences = 4}, {.num_blocks = 9, .windows = {6}});
  const Sequence& first = harness.add(200, 3);
  const Sequence& second = harness.add(200, 3);
  const Sequence& third = harness.add(200, 3);
  harness.step();
  EXPECT_TRUE(harness.is_running(first));
  EXPECT_TRUE(harness.is_running(second)) << "it is not asked for 50 blocks";
  EXPECT_FALSE(harness.is_running(third));
  while (!harness.scheduler().empty()) {
    ASSERT_FALSE(harness.step().empty());
    ASSERT_TRUE(harness.intact());
  }
  EXPECT_EQ(harness.scheduler().counts().preemptions, 0U);
}

TEST(Scheduler, WhereNoPromptHasRoomForARowTheOldestTakesTheBlocksOfTheYoungest) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 13, .windows = {6}});
  harness.add(200, 3);
  harness.step();
  const Sequence& younger = harness.add(100, 3);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 16)));
  const SequenceId thief = harness.kv().create_sequence();  // of blocks that were promised
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(harness.kv().reserve(thief, 0, std::int64_t{4} * harness.pool().free_count(), copies));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));  // in the two blocks that the younger one held
  EXPECT_FALSE(harness.is_running(younger));
  EXPECT_EQ(harness.scheduler().counts().preemptions, 1U);
  ASSERT_TRUE(harness.kv().drop_sequence(thief));
  while (!harness.scheduler().empty()) {
    ASSERT_FALSE(harness.step().empty());
    ASSERT_TRUE(harness.intact());
  }
}

TEST(Scheduler, ForksRunInThePlacesThatTheirParentHeld) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 3}, {.num_blocks = 16});
  Sequence& parent = harness.add(6, 4);
  parent.num_forks = 0;
  harness.remove(parent);
  auto sequence = std::make_unique<Sequence>();
  Sequence child;
  for (Sequence* s : {sequence.get(), &child}) {
    s->params.id = 1;
    s->tokens.reserve(10);
    s->tokens.assign(6, 1);
    s->params.prompt_tokens = s->pending.prompt_logits_from = 6;
    s->params.max_cached = 9;
    s->kv = harness.kv().create_sequence(9);
  }
  sequence->num_forks = 1;
  child.params.choice = 1;
  harness.scheduler().add(*sequence);
  Sequence& other = harness.add(5, 4);
  const Sequence& late = harness.add(5, 4);
  const auto accept_all = [&](const std::vector<ScheduledSequence>& planned) {
    for (ScheduledSequence one : planned) harness.scheduler().accept(one, one.num_tokens);
  };
  const std::vector<ScheduledSequence> first_plan = harness.schedule();
  EXPECT_TRUE(harness.is_running(other));
  EXPECT_FALSE(harness.is_running(late)) << "two places are the first request's";
  accept_all(first_plan);
  harness.scheduler().fork(*sequence, child);
  EXPECT_EQ(child.num_computed, 6);
  EXPECT_EQ(harness.scheduler().num_running(), 3);
  for (Sequence* s : {sequence.get(), &child, &other}) s->tokens.push_back(1);
  const std::vector<ScheduledSequence> plan = harness.schedule();
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[1].sequence, &child) << "choices go in their order";
  EXPECT_EQ(harness.plan().copies.size(), 1U) << "the block that both write into is copied once";
  accept_all(plan);
  EXPECT_TRUE(harness.kv().check_integrity());
  for (Sequence* s : {sequence.get(), &child}) {
    harness.scheduler().remove(*s);
    EXPECT_TRUE(harness.kv().drop_sequence(s->kv));
  }
}

// A new sequence may lie where one lay that is gone: the last admission that failed was the other's.
TEST(Scheduler, SequenceIsNotTakenForAnotherThatLayAtItsAddress) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 4});
  const auto make = [&](Sequence& made, RequestId id, int num_tokens, int max_cached) {
    made = {};
    made.params = {.id = id, .prompt_tokens = num_tokens, .max_cached = max_cached};
    made.pending.prompt_logits_from = num_tokens;
    made.tokens.assign(to_size(num_tokens), 1);
    made.kv = harness.kv().create_sequence(max_cached);
  };
  Sequence& first = harness.add(6, 3);
  harness.step();
  Sequence sequence, child;
  make(sequence, 7, 11, 12);
  harness.scheduler().add(sequence);
  harness.step();
  EXPECT_FALSE(sequence.is_running()) << "it asks for three blocks, and two are free";
  harness.remove(first);
  std::vector<ScheduledSequence> plan = harness.schedule();
  harness.scheduler().accept(plan.at(0), 11);
  make(child, 7, 11, 12);
  harness.scheduler().replace(sequence, child);
  EXPECT_TRUE(harness.kv().drop_sequence(sequence.kv));
  child.tokens.push_back(1);
  make(sequence, 8, 4, 4);
  harness.scheduler().add(sequence);
  EXPECT_EQ(harness.schedule().size(), 2U) << "it asks for one block, and one is free";
  for (Sequence* s : {&sequence, &child}) {
    harness.scheduler().remove(*s);
    EXPECT_TRUE(harness.kv().drop_sequence(s->kv));
  }
}

}  // namespace
}  // namespace octavo
