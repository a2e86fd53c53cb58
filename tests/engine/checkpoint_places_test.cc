#include "engine/schedule/checkpoint_places.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/room_harness.h"

namespace octavo {
namespace {

using test::kRecurrent;
using test::RoomHarness;

constexpr int kFirstToken = 7;  // of prompts that begin alike
// Blocks have four tokens, and a state takes as much as 40.

class PlacesOfCheckpoints : public ::testing::Test {
 protected:
  RoomHarness room{{.num_blocks = 256, .windows = {kRecurrent, 0}, .prefix_cache = true, .state_bytes = 320}};
  CheckpointPlaces places{*room.kv, room.queues, 1};

  int interval() const { return room.kv->checkpoint_interval(); }
  Sequence& run(int num_tokens, int num_computed = 0) { return room.run(num_tokens, num_computed, kFirstToken); }
  Sequence& wait(int num_tokens) { return room.add(num_tokens, kFirstToken); }

  void expect_place(Sequence& sequence, int at, int uses) {
    places.plan(sequence);
    EXPECT_EQ(sequence.notes.checkpoint_at, at);
    EXPECT_EQ(sequence.notes.checkpoint_uses, uses);
  }
};

TEST_F(PlacesOfCheckpoints, ThereAreNoneWithoutStatesOrSomebodyWhoFindsThem) {
  EXPECT_TRUE(places.exist());
  const RoomHarness dense({.prefix_cache = true}), uncached({.windows = {kRecurrent, 0}});
  EXPECT_FALSE(CheckpointPlaces(*dense.kv, dense.queues, 1).exist());
  EXPECT_FALSE(CheckpointPlaces(*uncached.kv, uncached.queues, 1).exist());
}

TEST_F(PlacesOfCheckpoints, OneIsAtTheEndOfEveryInterval) {
  Sequence& sequence = run(3 * interval() + 1);
  expect_place(sequence, interval(), 0);
  room.compute(sequence, interval() - 4);
  expect_place(sequence, interval(), 0);
  room.compute(sequence, interval());
  expect_place(sequence, 2 * interval(), 0);
}

TEST_F(PlacesOfCheckpoints, IntervalsThatAreShorterThanAChunkDoNotCutIt) {
  Sequence& sequence = run(6 * interval() + 1);
  const CheckpointPlaces of_long_chunks(*room.kv, room.queues, 3 * interval() - 1);
  for (const int computed : {0, interval(), 2 * interval() - 4}) {
    room.compute(sequence, computed);
    of_long_chunks.plan(sequence);
    EXPECT_EQ(sequence.notes.checkpoint_at, 2 * interval()) << computed;
  }
  room.compute(sequence, 2 * interval());
  of_long_chunks.plan(sequence);
  EXPECT_EQ(sequence.notes.checkpoint_at, 4 * interval());
}

TEST_F(PlacesOfCheckpoints, OneIsAtTheLastWholeBlockBeforeTheGenerationPrompt) {
  Sequence& sequence = run(15);
  sequence.params.generation_prompt_tokens = 5;
  expect_place(sequence, 8, 1);
  room.compute(sequence, 8);
  expect_place(sequence, interval(), 0);
}

TEST_F(PlacesOfCheckpoints, OneIsAtTheLastWholeBlockOfTheLastPicture) {
  Sequence& sequence = run(40);
  sequence.params.generation_prompt_tokens = 5;
  sequence.given.rows = {{.first = 1, .count = 3}, {.first = 6, .count = 16}};
  expect_place(sequence, 20, 1);
  room.compute(sequence, 20);
  expect_place(sequence, 32, 1);
  Sequence& small = run(40);
  small.params.generation_prompt_tokens = 5;
  small.given.rows = {{.first = 6, .count = 15}};
  expect_place(small, 32, 1);  // which a chunk of its own would cost more than it saves
}

TEST_F(PlacesOfCheckpoints, OneIsWhereAnotherPartsIfThatSavesEnough) {
  Sequence& sequence = run(3 * interval());
  wait(13);
  expect_place(sequence, interval(), 0);  // 12 tokens are less than four blocks
  wait(21);
  expect_place(sequence, 20, 1);
}

TEST_F(PlacesOfCheckpoints, OthersThatPartAtOnePlaceSaveTogether) {
  Sequence& sequence = run(3 * interval());
  wait(13);
  wait(13);
  expect_place(sequence, 12, 2);
}

TEST_F(PlacesOfCheckpoints, WhereAnIntervalEndsOthersAreCounted) {
  Sequence& sequence = run(3 * interval());
  wait(interval() + 1);
  expect_place(sequence, interval(), 1);
}

TEST_F(PlacesOfCheckpoints, AnotherBeginningOrLogitsOfThePromptCountForNothing) {
  Sequence& sequence = run(3 * interval());
  room.add(21, kFirstToken + 1);
  wait(21).pending.prompt_logits_from = 0;  // it computes all of its own
  expect_place(sequence, interval(), 0);
}

class ClaimantsOfCheckpoints : public PlacesOfCheckpoints {
 protected:
  /// `first` computes a prompt and will keep its state behind 20 tokens.
  ClaimantsOfCheckpoints() : first(run(3 * interval(), 4)), second(run(21)) {
    first.notes.checkpoint_at = 20;
    second.notes.checkpoint_at = interval();
  }

  Sequence* claimant() const { return places.claimant(second, std::array{&first, &second}); }

  Sequence& first;
  Sequence& second;
};

TEST_F(ClaimantsOfCheckpoints, OneThatIsAheadComputesWhatAnotherNeeds) {
  EXPECT_EQ(claimant(), &first);
  EXPECT_EQ(places.claimant(first, std::array{&first, &second}), nullptr);
}

TEST_F(ClaimantsOfCheckpoints, OneThatIsAsFarMustHaveRowsInThisStep) {
  room.compute(second, 4);
  EXPECT_EQ(claimant(), nullptr);
  first.notes.planned_in_step = room.queues.step();
  EXPECT_EQ(claimant(), &first);
}

TEST_F(ClaimantsOfCheckpoints, AStateBehindAllTokensOrBehindWhatIsNotHashedIsOfNoUse) {
  first.notes.checkpoint_at = 24;
  EXPECT_EQ(claimant(), nullptr);
  first.notes.checkpoint_at = 4;  // it is past that
  EXPECT_EQ(claimant(), nullptr);
}

TEST_F(ClaimantsOfCheckpoints, NobodyWaitsWithinABlockOrForACacheThatItMayNotUse) {
  room.compute(second, 2);
  EXPECT_EQ(claimant(), nullptr);
  ASSERT_TRUE(room.kv->truncate(second.kv, 0));
  second.num_computed = 0;
  EXPECT_EQ(claimant(), &first);
  second.pending.prompt_logits_from = 0;
  EXPECT_EQ(claimant(), nullptr);
}

TEST_F(ClaimantsOfCheckpoints, TheClaimantHasThePriorityOfThoseThatWait) {
  second.params.priority = 5;
  places.raise_priorities(std::array{&first, &second});
  EXPECT_EQ(first.notes.priority_in_step, 5);
  EXPECT_EQ(second.notes.priority_in_step, 0);
}

}  // namespace
}  // namespace octavo
