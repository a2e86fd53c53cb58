#include "engine/block_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;

/// A sequence of `num_tokens` tokens that catches up, the first of which are computed.
Sequence make_sequence(KvBooks& kv, int num_tokens, int num_computed) {
  Sequence sequence;
  sequence.tokens.assign(to_size(num_tokens), 0);
  sequence.asked.prompt_tokens = sequence.notes.num_admitted_tokens = sequence.asked.max_cached = num_tokens;
  sequence.num_computed = num_computed;
  sequence.kv = kv.create_sequence();
  std::vector<BlockCopy> copies;
  EXPECT_TRUE(kv.reserve(sequence.kv, 0, num_computed, copies));
  kv.commit(sequence.kv, num_computed);
  return sequence;
}

TEST(BlockLedger, RoomIsWhatIsFreeAndPromisedToNobody) {
  const auto kv = test::make_cache({.num_blocks = 16});
  Sequence prompt = make_sequence(*kv, 20, 8);  // two blocks of five
  Sequence* running[] = {&prompt};
  BlockLedger ledger(*kv, 64);
  EXPECT_EQ(ledger.room(0), 14);
  ledger.count_promises(running);
  EXPECT_EQ(ledger.room(0), 11);
  EXPECT_TRUE(ledger.has_room_for(std::array{11}));
  EXPECT_FALSE(ledger.has_room_for(std::array{12}));
  ledger.take_back(prompt);
  EXPECT_EQ(ledger.room(0), 14);
}

TEST(BlockLedger, NothingIsPromisedToOneThatDoesNotCatchUp) {
  const auto kv = test::make_cache({.num_blocks = 16});
  Sequence answer = make_sequence(*kv, 20, 8);
  answer.notes.num_admitted_tokens = 8;
  BlockLedger ledger(*kv, 64);
  ledger.promise(answer);
  EXPECT_EQ(ledger.room(0), 14);
}

TEST(BlockLedger, CountsWhatASequenceTakesToAdvanceInEachGroup) {
  const auto kv = test::make_cache({.num_blocks = 16, .windows = {0, 6}});
  const Sequence prompt = make_sequence(*kv, 40, 8);
  BlockLedger ledger(*kv, 8);
  std::vector<int> needed(2);
  ledger.count_to_advance(prompt, 9, needed);
  EXPECT_THAT(needed, ElementsAre(3, 3));
  // 40 tokens are ten blocks, of which two are there; the window and a step's rows touch four, of which two are there.
  EXPECT_EQ(ledger.to_promise(prompt, 0), 8);
  EXPECT_EQ(ledger.to_promise(prompt, 1), 2);
}

TEST(BlockLedger, StartingTakesABlockToGrowOrOneAChoice) {
  const auto kv = test::make_cache({.num_blocks = 16});
  Sequence prompt = make_sequence(*kv, 8, 0);
  BlockLedger ledger(*kv, 64);
  std::vector<int> needed(1);
  ledger.count_to_start(prompt, needed);
  EXPECT_THAT(needed, ElementsAre(2)) << "it never grows";
  prompt.asked.max_cached = 9;
  ledger.count_to_start(prompt, needed);
  EXPECT_THAT(needed, ElementsAre(3));
  prompt.num_forks = 2;
  ledger.count_to_start(prompt, needed);
  EXPECT_THAT(needed, ElementsAre(5));
}

TEST(BlockLedger, TokensThatFitAreThoseOfTheBlocksThatArePromised) {
  const auto kv = test::make_cache({.num_blocks = 6});
  Sequence prompt = make_sequence(*kv, 20, 8), other = make_sequence(*kv, 8, 4);
  Sequence* running[] = {&prompt, &other};
  BlockLedger ledger(*kv, 64);
  ledger.count_promises(running);  // 3 and 1 of the 3 that are free
  EXPECT_EQ(ledger.tokens_that_fit(prompt, 12), 8);
  EXPECT_EQ(ledger.tokens_that_fit(prompt, 5), 5);
}

}  // namespace
}  // namespace octavo
