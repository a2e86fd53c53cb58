// Steps of which less counts than was computed: what was not accepted is computed again or dropped, and nothing of it
// is left in the manager.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using ::testing::ElementsAre;
using ::testing::Pair;

/// Takes back the tokens that were not accepted, and appends `num_tokens` others.
void draft(Sequence& sequence, int num_tokens) {
  sequence.tokens.resize(to_size(sequence.num_computed));
  sequence.tokens.insert(sequence.tokens.end(), to_size(num_tokens), 0);
}

TEST(Accept, OfSeveralTokensOfAnAnswerThoseThatWereRightCount) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16});
  Sequence& sequence = harness.add(6, 20);
  harness.step();
  draft(sequence, 1 + 4);
  const std::vector<ScheduledSequence> plan = harness.schedule();
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].num_tokens, 5) << "the token that was drawn, and all behind it, in one step";
  EXPECT_EQ(sequence.num_logit_rows(11), 5);
  EXPECT_EQ(harness.num_blocks(sequence), 3);
  harness.scheduler().accept(sequence, 2);
  EXPECT_EQ(sequence.num_computed, 8);
  EXPECT_EQ(harness.num_blocks(sequence), 2) << "the block behind them is free again";
  EXPECT_TRUE(harness.intact());
  draft(sequence, 1);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
  EXPECT_EQ(harness.scheduler().num_computed_tokens(), 6U + 5 + 1);
}

TEST(Accept, TokensOfAPromptThatDoNotCountAreComputedAgain) {
  Harness harness({.max_step_tokens = 10, .max_sequences = 4}, {.num_blocks = 16, .prefix_cache = true});
  Sequence& prompt = harness.add(18, 4, 7);
  harness.schedule();
  harness.scheduler().accept(prompt, 6);
  EXPECT_TRUE(harness.intact());
  EXPECT_TRUE(harness.kv().is_published(prompt.chain.hashes()[0]));
  EXPECT_FALSE(harness.kv().is_published(prompt.chain.hashes()[1])) << "only two tokens of it count";
  const std::vector<ScheduledSequence> plan = harness.schedule();
  EXPECT_EQ(plan[0].num_tokens, 10);
  harness.scheduler().accept(prompt, 0);
  EXPECT_EQ(prompt.num_computed, 6);
  EXPECT_TRUE(harness.intact());
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 10)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 2)));
}

TEST(Accept, WindowGivesBackOnlyWhatTheAcceptedTokensLeaveBehind) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16, .windows = {0, 6}});
  Sequence& prompt = harness.add(16, 4);
  harness.schedule();
  harness.scheduler().accept(prompt, 5);
  EXPECT_EQ(harness.kv().table(prompt.kv, 1).first_held(), 0) << "position 5 looks at 0 to 5";
  EXPECT_TRUE(harness.intact());
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 11)));
  EXPECT_EQ(harness.kv().table(prompt.kv, 1).first_held(), 2) << "position 16 looks at 11 to 16";
  EXPECT_TRUE(harness.intact());
}

TEST(Accept, BlockThatIsSharedStaysAsItWasForTheOther) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16});
  Sequence& sequence = harness.add(6, 20);
  harness.step();
  const SequenceId other = *harness.kv().fork(sequence.kv);
  draft(sequence, 3);
  harness.schedule();
  EXPECT_EQ(harness.plan().copies.size(), 1U);
  harness.scheduler().accept(sequence, 0);
  EXPECT_EQ(harness.kv().sequence_length(other), 6);
  EXPECT_TRUE(harness.intact());
  ASSERT_TRUE(harness.kv().drop_sequence(other));
  draft(sequence, 1);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
}

// Nobody has the state behind a token in the middle of a step.
TEST(Accept, ARecurrentStateGoesBackToItsLastCheckpointAndCatchesUp) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4},
                  {.num_blocks = 16, .windows = {test::kRecurrent, 0}, .prefix_cache = true});
  Sequence& sequence = harness.add(13, 20);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8))) << "every 8 tokens a state is kept";
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4))) << "and before the last token";
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1)));
  draft(sequence, 1 + 3);
  EXPECT_EQ(harness.schedule()[0].num_tokens, 3) << "to the next place where a state is kept";
  harness.scheduler().accept(sequence, 2);
  EXPECT_EQ(sequence.num_computed, 12);
  EXPECT_TRUE(harness.intact());
  sequence.tokens.resize(16);  // two were right, and one was drawn behind them
  EXPECT_TRUE(sequence.is_catching_up());
  EXPECT_EQ(sequence.num_logit_rows(16), 1) << "what was drawn before is not drawn again";
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 4)));
  EXPECT_EQ(sequence.num_computed, 16);
  EXPECT_FALSE(sequence.is_catching_up());
  EXPECT_TRUE(harness.intact());
}

/// Runs all sequences to their ends, each with up to four drafted tokens a step, of whose rows accepted(steps, rows)
/// count. The scheduler is intact behind every step, and all blocks are free at the end.
template <class Accepted>
void run_with_drafts(Harness& harness, int num_blocks, const Accepted& accepted) {
  for (int steps = 0; !harness.scheduler().empty(); ++steps) {
    RC_ASSERT(steps < 10'000);
    for (const auto& [sequence, num_tokens] : harness.schedule()) {
      harness.scheduler().accept(*sequence, accepted(steps, num_tokens));
      if (sequence->is_catching_up()) continue;
      if (sequence->num_computed >= sequence->params.max_cached) {
        harness.remove(*sequence);
      } else {
        draft(*sequence, *rc::gen::inRange(1, std::min(5, sequence->params.max_cached - sequence->num_computed + 1)));
      }
    }
    RC_ASSERT(harness.intact());
  }
  RC_ASSERT(harness.pool().free_count() == num_blocks);
}

RC_GTEST_PROP(Accept, StatesThatGoBackNowAndThenAreComputedAgainUntilAllEnd, ()) {
  const int num_blocks = *rc::gen::inRange(8, 30);
  Harness harness({.max_step_tokens = *rc::gen::inRange(4, 20), .max_sequences = *rc::gen::inRange(1, 6)},
                  {.num_blocks = num_blocks,
                   .windows = {test::kRecurrent, 0},
                   .prefix_cache = true,
                   .num_snapshots = *rc::gen::inRange(1, 8)});
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i)
    harness.add(*rc::gen::inRange(1, 2 * num_blocks), *rc::gen::inRange(1, num_blocks), *rc::gen::inRange(0, 2));
  std::minstd_rand random(*rc::gen::inRange(1U, 1000U));
  run_with_drafts(harness, num_blocks, [&](int steps, int num_tokens) {
    const bool is_cut = steps < 300 && random() % 8 == 0;
    return is_cut ? static_cast<int>(random() % to_size(num_tokens + 1)) : num_tokens;
  });
}

TEST(AcceptDeathTest, MoreThanWasComputedIsABugOfTheCaller) {
  Harness harness({.max_step_tokens = 16, .max_sequences = 4}, {.num_blocks = 16});
  Sequence& sequence = harness.add(6, 20);
  harness.schedule();
  EXPECT_DEATH(harness.scheduler().accept(sequence, 7), "7 of 6 tokens");
}

// Whatever part of each step counts, and however many tokens are tried at a time, all end and every block is accounted
// for after every step.
RC_GTEST_PROP(Accept, AnyPartOfAnyStepMayCount, ()) {
  const int window = *rc::gen::inRange(1, 20);
  const auto windows = *rc::gen::elementOf(std::vector<std::vector<int>>{{0}, {0, window}, {window}});
  const int num_blocks = *rc::gen::inRange(6, 30);
  Harness harness({.max_step_tokens = *rc::gen::inRange(1, 20), .max_sequences = *rc::gen::inRange(1, 6)},
                  {.num_blocks = num_blocks, .windows = windows, .prefix_cache = *rc::gen::arbitrary<bool>()});
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i)
    harness.add(*rc::gen::inRange(1, 2 * num_blocks), *rc::gen::inRange(1, num_blocks), *rc::gen::inRange(0, 2));
  run_with_drafts(harness, num_blocks, [](int steps, int num_tokens) {
    return steps % 3 == 0 ? num_tokens : *rc::gen::inRange(0, num_tokens + 1);
  });
}

}  // namespace
}  // namespace octavo
