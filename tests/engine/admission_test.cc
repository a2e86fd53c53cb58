#include "engine/schedule/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/room_harness.h"

namespace octavo {
namespace {

using test::RoomHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Admission, AdmitsByRankWhileMoreMayRunAndThereAreBlocks) {
  RoomHarness room({.num_blocks = 8}, 2);
  Sequence &first = room.add(8), &second = room.add(8), &third = room.add(8);
  room.admission.admit(room.newly_admitted);
  EXPECT_THAT(room.newly_admitted, ElementsAre(&first, &second));
  EXPECT_FALSE(third.is_running()) << "there are two places";
  EXPECT_EQ(room.block_budget.room(0), 4) << "two blocks are promised to each";
  EXPECT_EQ(room.counts.prompt_tokens, 16U);
}

TEST(Admission, NobodyOvertakesOneThatFindsNoBlocks) {
  RoomHarness room({.num_blocks = 4});
  room.run(12, 12);
  Sequence &large = room.add(16), &small = room.add(4);
  for (Sequence* waiting : {&large, &small}) waiting->notes.counts_of_owner = &room.owners.front();
  room.admission.admit(room.newly_admitted);
  EXPECT_FALSE(large.is_running());
  EXPECT_FALSE(small.is_running());
  EXPECT_THAT(room.newly_admitted, IsEmpty());
}

TEST(Admission, EachChoiceToComeIsPromisedARecurrentState) {
  RoomHarness room({.num_blocks = 16, .windows = {test::kRecurrent, 0}, .num_snapshots = 4}, 8);
  Sequence &three = room.add(8, -1, 2), &one = room.add(8), &another = room.add(8);
  room.admission.admit(room.newly_admitted);
  EXPECT_TRUE(three.is_running());
  EXPECT_TRUE(one.is_running());
  EXPECT_FALSE(another.is_running()) << "there are blocks and places, and no state";
  EXPECT_EQ(room.block_budget.room(1), 0);
}

TEST(Admission, BlocksThatAreCachedNeedNotBeFree) {
  RoomHarness room({.num_blocks = 4, .prefix_cache = true});
  Sequence& first = room.run(12, 12, 7);
  room.block_budget.count_promises(room.queues.running());
  Sequence& second = room.add(12, 7);
  second.notes.counts_of_owner = first.notes.counts_of_owner;
  room.admission.admit(room.newly_admitted);
  EXPECT_TRUE(second.is_running());
  EXPECT_EQ(second.cached_tokens, 8) << "the last token is computed anew";
  EXPECT_EQ(room.counts.lookup_tokens, 8U);
}

TEST(Admission, WhatItAttachedToIsGivenBackWhereItFindsNoRoom) {
  RoomHarness room({.num_blocks = 6, .prefix_cache = true});
  Sequence& first = room.run(12, 12, 7);
  room.run(8, 8).notes.counts_of_owner = first.notes.counts_of_owner;
  Sequence& waiting = room.add(24, 7);  // three blocks are cached, three are to come, one is free
  waiting.notes.counts_of_owner = first.notes.counts_of_owner;
  room.admission.admit(room.newly_admitted);
  EXPECT_FALSE(waiting.is_running());
  EXPECT_EQ(waiting.num_computed, 0);
  EXPECT_EQ(waiting.cached_tokens, 0);
  EXPECT_EQ(room.block_budget.held_alone(first, 0), 3);
}

TEST(Admission, ChoicesToComeCountAmongThoseThatRun) {
  RoomHarness room({.num_blocks = 16}, 3);
  Sequence& parent = room.add(4);
  parent.num_forks = 1;
  Sequence& other = room.add(4);
  other.num_forks = 1;
  other.notes.counts_of_owner = parent.notes.counts_of_owner;
  room.admission.admit(room.newly_admitted);
  EXPECT_TRUE(parent.is_running());
  EXPECT_FALSE(other.is_running());
  EXPECT_EQ(room.queues.num_free(), 1);
}

TEST(Admission, AnotherOwnerOfWorseRankIsSuspended) {
  RoomHarness room({.num_blocks = 16}, 1);
  Sequence& running = room.run(4, 4);
  Sequence& newcomer = room.add(4);
  newcomer.notes.rank.virtual_arrival = 0;
  EXPECT_TRUE(room.admission.is_urgent());
  room.admission.admit(room.newly_admitted);
  EXPECT_TRUE(newcomer.is_running());
  EXPECT_FALSE(running.is_running());
  EXPECT_EQ(running.num_computed, 4) << "it stood up with what it holds";
}

TEST(Admission, IsNotUrgentForOneOfTheSameOwnerAndPriority) {
  RoomHarness room({.num_blocks = 16}, 1);
  Sequence& running = room.run(4, 4);
  Sequence& newcomer = room.add(4);
  newcomer.notes.counts_of_owner = running.notes.counts_of_owner;
  newcomer.notes.rank.virtual_arrival = 0;
  EXPECT_FALSE(room.admission.is_urgent());
  newcomer.params.priority = 1;
  EXPECT_TRUE(room.admission.is_urgent());
}

TEST(Admission, OneThatFoundNoRoomTriesAgainWhenThereIsMore) {
  RoomHarness room({.num_blocks = 4});
  Sequence& running = room.run(12, 12);
  Sequence& waiting = room.add(8);
  waiting.notes.counts_of_owner = running.notes.counts_of_owner;
  room.admission.admit(room.newly_admitted);
  EXPECT_FALSE(waiting.is_running());
  ASSERT_TRUE(room.kv->truncate(running.kv, 4));
  running.num_computed = running.notes.num_admitted_tokens = 4;
  running.tokens.resize(4);
  room.block_budget.count_promises(room.queues.running());
  room.admission.admit(room.newly_admitted);
  EXPECT_TRUE(waiting.is_running());
}

}  // namespace
}  // namespace octavo
