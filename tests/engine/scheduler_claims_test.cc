// Sharing in flight: what one prompt computes, others wait for and never compute again, whatever becomes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

using test::Harness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Prompts with the same first token are the same as far as both reach.
constexpr int kDocument = 7;

Harness make_harness(int max_step_tokens, int num_blocks = 64) {
  return Harness({.max_step_tokens = max_step_tokens, .max_sequences = 16},
                 {.num_blocks = num_blocks, .prefix_cache = true});
}

int run_to_end(Harness& harness) {
  int steps = 0;
  for (; !harness.scheduler().empty(); ++steps) {
    harness.step();
    EXPECT_TRUE(harness.intact());
    if (steps > 10'000) {
      ADD_FAILURE() << "it does not end";
      break;
    }
  }
  return steps;
}

TEST(Claims, BlockThatAnotherComputesInTheSameStepIsWaitedFor) {
  Harness harness = make_harness(64);
  harness.add(21, 3, kDocument);
  Sequence& second = harness.add(21, 3, kDocument);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 21))) << "there is room for both, but it is the same work";
  EXPECT_EQ(second.num_computed, 0);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_EQ(second.cached_tokens, 20);
  EXPECT_TRUE(harness.intact());
}

TEST(Claims, OthersWithOtherWordsDoNotWait) {
  Harness harness = make_harness(64);
  harness.add(21, 3, kDocument);
  harness.add(21, 3, kDocument);
  harness.add(10, 3);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(3, 10), Pair(1, 21)));
}

TEST(Claims, WaiterComputesItselfWhatItCouldNotAttachTo) {
  Harness harness = make_harness(64);
  harness.add(8, 3, kDocument);
  harness.add(8, 3, kDocument);  // its last token is never part of what it attaches to: the second block is its own
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 4)));
}

TEST(Claims, PromptThatHasHadRowsAttachesToWhatAnotherPublishes) {
  Harness harness = make_harness(8);
  Sequence& first = harness.add(40, 3, kDocument);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 8)));
  Sequence& second = harness.add(30, 3, kDocument);  // shorter: it goes on from there, and the first waits for it
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 8)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 8)));
  EXPECT_EQ(first.num_computed, 16);
  EXPECT_EQ(second.num_computed, 24);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 6)));
  EXPECT_EQ(first.num_computed, 24);
  EXPECT_EQ(first.cached_tokens, 16);
  run_to_end(harness);
  EXPECT_EQ(harness.scheduler().counts().computed_tokens, 28U + 12 + 2 + 2 + 2);
}

TEST(Claims, PassToTheBestWaiterWhenTheOwnerIsCancelled) {
  Harness harness = make_harness(8);
  Sequence& owner = harness.add(40, 3, kDocument);
  const Sequence& waiter = harness.add(40, 3, kDocument);
  harness.add(40, 3, kDocument);
  harness.step();
  harness.step();
  EXPECT_EQ(owner.num_computed, 16);
  harness.remove(owner);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(2, 8))) << "in the very next step, from where the owner was";
  EXPECT_EQ(waiter.num_computed, 24);
  EXPECT_TRUE(harness.intact());
  run_to_end(harness);
}

TEST(Claims, PassOnWhenTheOwnerIsPreempted) {
  Harness harness = make_harness(5, 18);  // two blocks of the decode, ten and six of the prompts
  harness.add(4, 30);
  harness.step();
  const Sequence& waiter = harness.add(40, 1, kDocument);
  const Sequence& owner = harness.add(24, 1, kDocument);  // the shorter goes first, and is the younger
  for (int i = 0; i < 4; ++i) EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(3, 4)));
  const SequenceId thief = harness.kv().create_sequence();  // of all that is free and promised to nobody
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(harness.kv().reserve(thief, 0, std::int64_t{4} * (harness.pool().free_count() - 2 - 6), copies));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 4))) << "the decode has taken a block of the owner";
  EXPECT_FALSE(Harness::is_running(owner));
  EXPECT_EQ(owner.num_computed, 16) << "what the waiter holds as well would not be free";
  EXPECT_EQ(waiter.num_computed, 20);
  EXPECT_EQ(waiter.cached_tokens, 16);
  ASSERT_TRUE(harness.kv().drop_sequence(thief));
  run_to_end(harness);
  EXPECT_LE(harness.scheduler().counts().computed_tokens, 33U + 40 + 8);
}

TEST(Claims, OwnerWithinABlockGoesFirstForAWaiterOfHigherPriority) {
  Harness harness = make_harness(6);
  Sequence& owner = harness.add(40, 3, kDocument);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 6)));  // the second block is half done
  harness.add(30, 3);
  const Sequence& waiter = harness.add(40, 3, kDocument, 9);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 6))) << "though the other prompt is shorter";
  EXPECT_EQ(owner.num_computed, 12);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(3, 6))) << "from here on the waiter computes for itself";
  EXPECT_EQ(waiter.cached_tokens, 12);
}

TEST(Claims, WaiterOfHigherPriorityTakesTheClaimAtTheNextBlock) {
  Harness harness = make_harness(8);
  harness.add(80, 3, kDocument);
  harness.step();
  harness.add(60, 3);
  const Sequence& urgent = harness.add(80, 3, kDocument, 9);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(3, 8))) << "behind the eight tokens that the first has computed";
  EXPECT_EQ(urgent.cached_tokens, 8);
}

TEST(Claims, RequestForPromptLogitsComputesAllAndOthersWaitForIt) {
  Harness harness = make_harness(64);
  Sequence& reader = harness.add(21, 3, kDocument);
  reader.pending.prompt_logits_from = 0;
  harness.add(21, 3, kDocument);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 21)));
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
  Sequence& again = harness.add(21, 3, kDocument);
  again.pending.prompt_logits_from = 0;
  harness.step();
  EXPECT_EQ(again.cached_tokens, 0);
}

TEST(Claims, DomainsDoNotWaitForEachOther) {
  Harness harness = make_harness(64);
  harness.add(21, 3, kDocument);
  Sequence& other = harness.add(21, 3, kDocument);
  harness.scheduler().remove(other);
  other.params.cache_domain = "another";
  other.hash_blocks(harness.kv().hashing());
  harness.scheduler().add(other);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 21), Pair(2, 21)));
}

constexpr float kVector = 0;  // of a picture whose vectors are there

TEST(Claims, EqualTokensWithOtherThingsGivenInTheirPlaceDoNotWaitForEachOther) {
  for (const std::uint8_t name : {std::uint8_t{1}, std::uint8_t{2}}) {
    Harness harness = make_harness(64);
    for (const std::uint8_t own : {std::uint8_t{1}, name}) {
      Sequence& sequence = harness.add(21, 3, kDocument);
      harness.scheduler().remove(sequence);
      sequence.given.rows = {{.first = 2, .count = 9, .digest = {{own}}}};
      sequence.given.pictures = {std::make_shared<PictureRows>(PictureRows{.vectors = &kVector})};
      sequence.hash_blocks(harness.kv().hashing());
      harness.scheduler().add(sequence);
    }
    if (name == 1) {
      EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 21)));
      EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 1), Pair(2, 1)));
    } else {
      EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 21), Pair(2, 21)));
    }
  }
}

TEST(Claims, WithoutAPrefixCacheNobodyWaits) {
  Harness harness({.max_step_tokens = 64, .max_sequences = 4}, {.num_blocks = 64});
  harness.add(21, 3, kDocument);
  harness.add(21, 3, kDocument);
  EXPECT_THAT(harness.step(), ElementsAre(Pair(1, 21), Pair(2, 21)));
}

// However many ask, in whatever order and size of step, the document is computed once, and of each request its own
// tokens, one block more at most.
RC_GTEST_PROP(Claims, DocumentIsComputedOnceWhateverTheStepsAndTheOrder, ()) {
  const int shared = *rc::gen::inRange(1, 120), count = *rc::gen::inRange(1, 12);
  const int max_step_tokens = *rc::gen::inRange(1, 80);
  const auto policy = *rc::gen::element(PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved,
                                        PrefillPriority::kDecodePriority);
  Harness harness({.max_step_tokens = max_step_tokens, .max_sequences = 16, .policy = policy},
                  {.num_blocks = 2000, .prefix_cache = true});
  int own = 0;
  for (int i = 0; i < count; ++i) {
    const int extra = *rc::gen::inRange(0, 20);
    const int priority = *rc::gen::inRange(-2, 3);
    Sequence& sequence = harness.add(shared + extra, 1, kDocument, priority);
    harness.scheduler().remove(sequence);
    for (int j = shared; j < shared + extra; ++j) sequence.tokens[static_cast<std::size_t>(j)] = 5000 + i;
    sequence.hash_blocks(harness.kv().hashing());
    harness.scheduler().add(sequence);
    own += extra;
    if (*rc::gen::arbitrary<bool>()) harness.step();
  }
  for (int steps = 0; !harness.scheduler().empty(); ++steps) {
    harness.step();
    RC_ASSERT(harness.intact());
    RC_ASSERT(steps < 10'000);
  }
  const auto most = static_cast<std::uint64_t>(shared + own + count * harness.kv().block_size());
  RC_ASSERT(harness.scheduler().counts().computed_tokens <= most);
}

}  // namespace
}  // namespace octavo
