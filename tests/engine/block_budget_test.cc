#include "engine/schedule/block_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;

/// A sequence of `num_tokens` tokens that catches up, the first of which are computed.
Sequence make_sequence(KvCacheManager& kv, int num_tokens, int num_computed) {
  Sequence sequence;
  sequence.tokens.assign(to_size(num_tokens), 0);
  sequence.params.prompt_tokens = sequence.notes.num_admitted_tokens = sequence.params.max_cached = num_tokens;
  sequence.num_computed = num_computed;
  sequence.kv = kv.create_sequence();
  std::vector<BlockCopy> copies;
  EXPECT_TRUE(kv.reserve(sequence.kv, 0, num_computed, copies));
  kv.commit(sequence.kv, num_computed);
  return sequence;
}

TEST(BlockBudget, RoomIsWhatIsFreeAndPromisedToNobody) {
  const auto kv = test::make_cache({.num_blocks = 16});
  Sequence prompt = make_sequence(*kv, 20, 8);  // two blocks of five
  Sequence* running[] = {&prompt};
  const PinnedPrefixes no_pins(*kv, {});
  BlockBudget block_budget(*kv, no_pins, 64);
  EXPECT_EQ(block_budget.room(0), 14);
  block_budget.count_promises(running);
  EXPECT_EQ(block_budget.room(0), 11);
  EXPECT_TRUE(block_budget.has_room_for(std::array{11}));
  EXPECT_FALSE(block_budget.has_room_for(std::array{12}));
  block_budget.take_back(prompt);
  EXPECT_EQ(block_budget.room(0), 14);
}

TEST(BlockBudget, NothingIsPromisedToOneThatDoesNotCatchUp) {
  const auto kv = test::make_cache({.num_blocks = 16});
  Sequence answer = make_sequence(*kv, 20, 8);
  answer.notes.num_admitted_tokens = 8;
  const PinnedPrefixes no_pins(*kv, {});
  BlockBudget block_budget(*kv, no_pins, 64);
  block_budget.promise(answer);
  EXPECT_EQ(block_budget.room(0), 14);
}

TEST(BlockBudget, CountsWhatASequenceTakesToAdvanceInEachGroup) {
  const auto kv = test::make_cache({.num_blocks = 16, .windows = {0, 6}});
  const Sequence prompt = make_sequence(*kv, 40, 8);
  const PinnedPrefixes no_pins(*kv, {});
  BlockBudget block_budget(*kv, no_pins, 8);
  std::vector<int> needed(2);
  block_budget.count_to_advance(prompt, 9, needed);
  EXPECT_THAT(needed, ElementsAre(3, 3));
  // 40 tokens are ten blocks, of which two are there; the window and a step's rows touch four, of which two are there.
  EXPECT_EQ(block_budget.to_promise(prompt, 0), 8);
  EXPECT_EQ(block_budget.to_promise(prompt, 1), 2);
}

TEST(BlockBudget, StartingTakesABlockToGrowOrOneAChoice) {
  const auto kv = test::make_cache({.num_blocks = 16});
  Sequence prompt = make_sequence(*kv, 8, 0);
  const PinnedPrefixes no_pins(*kv, {});
  BlockBudget block_budget(*kv, no_pins, 64);
  std::vector<int> needed(1);
  block_budget.count_to_start(prompt, needed);
  EXPECT_THAT(needed, ElementsAre(2)) << "it never grows";
  prompt.params.max_cached = 9;
  block_budget.count_to_start(prompt, needed);
  EXPECT_THAT(needed, ElementsAre(3));
  prompt.num_forks = 2;
  block_budget.count_to_start(prompt, needed);
  EXPECT_THAT(needed, ElementsAre(5));
}

TEST(BlockBudget, TokensThatFitAreThoseOfTheBlocksThatArePromised) {
  const auto kv = test::make_cache({.num_blocks = 6});
  Sequence prompt = make_sequence(*kv, 20, 8), other = make_sequence(*kv, 8, 4);
  Sequence* running[] = {&prompt, &other};
  const PinnedPrefixes no_pins(*kv, {});
  BlockBudget block_budget(*kv, no_pins, 64);
  block_budget.count_promises(running);  // 3 and 1 of the 3 that are free
  EXPECT_EQ(block_budget.tokens_that_fit(prompt, 12), 8);
  EXPECT_EQ(block_budget.tokens_that_fit(prompt, 5), 5);
}

}  // namespace
}  // namespace octavo
