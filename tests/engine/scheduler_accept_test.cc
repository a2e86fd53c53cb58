// Steps in which drafted tokens have rows: those that were right count, and nothing of the others is left in the
// manager.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using ::testing::ElementsAre;
using ::testing::Pair;

/// Guesses `num_tokens` tokens behind those of a sequence, which are likely.
void draft(Sequence& sequence, int num_tokens) {
  sequence.draft.clear();
  for (int i = 0; i < num_tokens; ++i) sequence.draft.add(0, 1);
}

/// The tokens of the plan that were known count, and the first `num_right` of the drafted ones, which its sequence has
/// then.
void accept(Harness& harness, ScheduledSequence planned, int num_right) {
  Sequence& sequence = *planned.sequence;
  harness.scheduler().accept(planned, planned.num_tokens - planned.num_drafted);
  for (int i = 0; i < num_right; ++i) {
    sequence.tokens.push_back(0);
    harness.scheduler().accept(planned, 1);
  }
  if (planned.num_left() > 0) harness.scheduler().take_back(planned);
  draft(sequence, 0);
}

TEST(Accept, OfDraftedTokensThoseThatWereRightCount) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16});
  Sequence& sequence = harness.add(6, 20);
  harness.step();
  draft(sequence, 4);
  const std::vector<ScheduledSequence> plan = harness.schedule();
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].num_tokens, 5) << "the token that was drawn, and all that were guessed, in one step";
  EXPECT_EQ(plan[0].num_drafted, 4);
  EXPECT_EQ(sequence.num_logit_rows(11), 5);
  EXPECT_EQ(harness.num_blocks(sequence), 3);
  accept(harness, plan[0], 1);
  EXPECT_EQ(sequence.num_computed, 8);
  EXPECT_EQ(harness.num_blocks(sequence), 2) << "the block behind them is free again";
  EXPECT_TRUE(harness.intact());
  sequence.tokens.push_back(0);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
  EXPECT_EQ(harness.scheduler().counts().computed_tokens, 6U + 5 + 1);
}

TEST(Accept, WindowGivesBackOnlyWhatTheAcceptedTokensLeaveBehind) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16, .windows = {0, 6}});
  Sequence& sequence = harness.add(6, 20);
  harness.step();
  draft(sequence, 9);
  accept(harness, harness.schedule()[0], 1);
  EXPECT_EQ(harness.kv().table(sequence.kv, 1).first_held(), 0) << "position 8 looks at 3 to 8";
  EXPECT_TRUE(harness.intact());
  sequence.tokens.push_back(0);
  draft(sequence, 7);
  accept(harness, harness.schedule()[0], 7);
  EXPECT_EQ(harness.kv().table(sequence.kv, 1).first_held(), 2) << "position 16 looks at 11 to 16";
  EXPECT_TRUE(harness.intact());
}

TEST(Accept, BlocksBecomeFoundOnlyByTokensThatWereRight) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16, .prefix_cache = true});
  Sequence& sequence = harness.add(6, 20, 7);
  harness.step();
  draft(sequence, 6);
  accept(harness, harness.schedule()[0], 1);
  ASSERT_EQ(sequence.chain.size(), 2U);
  EXPECT_TRUE(harness.kv().is_published(sequence.chain.hashes()[1])) << "positions 4 to 7";
  EXPECT_TRUE(harness.intact());
}

TEST(Accept, BlockThatIsSharedStaysAsItWasForTheOther) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16});
  Sequence& sequence = harness.add(6, 20);
  harness.step();
  const SequenceId other = *harness.kv().fork(sequence.kv);
  draft(sequence, 2);
  const std::vector<ScheduledSequence> plan = harness.schedule();
  EXPECT_EQ(harness.plan().copies.size(), 1U);
  accept(harness, plan[0], 0);
  EXPECT_EQ(harness.kv().sequence_length(other), 6);
  EXPECT_TRUE(harness.intact());
  ASSERT_TRUE(harness.kv().drop_sequence(other));
  sequence.tokens.push_back(0);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
}

// Rows behind a place where a state is kept would change what is kept.
TEST(Accept, ADraftEndsWhereARecurrentStateIsKept) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4},
                  {.num_blocks = 16, .windows = {test::kRecurrent, 0}, .prefix_cache = true});
  Sequence& sequence = harness.add(3, 20);
  while (sequence.num_tokens() == 3) harness.step();
  draft(sequence, 9);
  std::vector<ScheduledSequence> plan = harness.schedule();
  EXPECT_EQ(plan[0].num_tokens, 5) << "every 8 tokens a state is kept";
  EXPECT_EQ(plan[0].num_drafted, 4);
  accept(harness, plan[0], 4);
  EXPECT_EQ(sequence.num_computed, 8);
  EXPECT_EQ(harness.kv().stats().checkpoints, 1U);
  EXPECT_TRUE(harness.intact());
  sequence.tokens.push_back(0);
  draft(sequence, 4);
  plan = harness.schedule();
  accept(harness, plan[0], 1);
  EXPECT_EQ(sequence.num_computed, 10) << "and nothing goes back to it";
  EXPECT_TRUE(harness.intact());
}

TEST(AcceptDeathTest, MoreThanWasComputedIsABugOfTheCaller) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16});
  harness.add(6, 20);
  std::vector<ScheduledSequence> plan = harness.schedule();
  EXPECT_DEATH(harness.scheduler().accept(plan.at(0), 7), "7 of 6 tokens");
}

// Whatever part of each draft is right, all end and every block is accounted for after every step.
RC_GTEST_PROP(Accept, AnyPartOfAnyDraftMayBeRight, ()) {
  const int window = *rc::gen::inRange(1, 20);
  const auto windows = *rc::gen::elementOf(std::vector<std::vector<int>>{
      {0}, {0, window}, {window}, {test::kRecurrent, 0}, {0, test::chunks_of(window + 1)}});
  const int num_blocks = *rc::gen::inRange(6, 30);
  Harness harness({.max_step_tokens = *rc::gen::inRange(1, 20), .max_sequences = *rc::gen::inRange(1, 6)},
                  {.num_blocks = num_blocks, .windows = windows, .prefix_cache = *rc::gen::arbitrary<bool>()});
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i)
    harness.add(*rc::gen::inRange(1, 2 * num_blocks), *rc::gen::inRange(1, num_blocks), *rc::gen::inRange(0, 2));
  for (int steps = 0; !harness.scheduler().empty(); ++steps) {
    RC_ASSERT(steps < 10'000);
    for (const ScheduledSequence& planned : harness.schedule()) {
      accept(harness, planned, *rc::gen::inRange(0, planned.num_drafted + 1));
      Sequence& sequence = *planned.sequence;
      if (sequence.num_uncomputed() > 0) continue;
      if (sequence.num_computed >= sequence.params.max_cached) {
        harness.remove(sequence);
      } else {
        sequence.tokens.push_back(0);
        draft(sequence, *rc::gen::inRange(0, std::min(5, sequence.params.max_cached - sequence.num_computed)));
      }
    }
    RC_ASSERT(harness.intact());
  }
  RC_ASSERT(harness.pool().free_count() == num_blocks);
}

}  // namespace
}  // namespace octavo
