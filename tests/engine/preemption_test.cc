#include "engine/schedule/preemption.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/room_harness.h"

namespace octavo {
namespace {

using test::RoomHarness;

TEST(Preemption, TakesNothingWhereThereIsRoom) {
  RoomHarness room({.num_blocks = 8});
  Sequence &first = room.run(8, 8), &second = room.run(8, 8);
  EXPECT_TRUE(room.preemption.make_room(first, std::array{4}));
  EXPECT_TRUE(second.is_running());
  EXPECT_EQ(room.counts.preemptions, 0U);
}

TEST(Preemption, TheWorstRankGivesUpTheFewestTailBlocks) {
  RoomHarness room({.num_blocks = 8});
  Sequence &first = room.run(8, 8), &second = room.run(12, 12), &third = room.run(12, 12);
  EXPECT_TRUE(room.preemption.make_room(first, std::array{2}));
  EXPECT_TRUE(second.is_running());
  EXPECT_FALSE(third.is_running());
  EXPECT_EQ(third.num_computed, 4) << "it waits with the block that was not needed";
  EXPECT_EQ(room.counts.preempted_blocks, 2U);
  EXPECT_EQ(third.num_preemptions, 1);
  EXPECT_TRUE(room.queues.check_integrity());
}

// Nobody has the state that it had a few tokens ago.
TEST(Preemption, ARecurrentStateThatWasNotKeptIsGivenUpWithEverything) {
  RoomHarness room({.num_blocks = 8, .windows = {test::kRecurrent, 0}});
  Sequence &first = room.run(8, 8), &second = room.run(12, 12), &third = room.run(12, 12);
  EXPECT_TRUE(room.preemption.make_room(first, std::array{1, 0}));
  EXPECT_TRUE(second.is_running());
  EXPECT_EQ(third.num_computed, 0);
  EXPECT_EQ(room.kv->table(third.kv, 0).num_blocks(), 0);
  EXPECT_EQ(room.kv->table(third.kv, 1).num_blocks(), 0);
  EXPECT_TRUE(room.kv->check_integrity());
}

TEST(Preemption, ASequenceWithARecurrentStateIsCutAtItsLastCheckpoint) {
  RoomHarness room({.num_blocks = 8, .windows = {test::kRecurrent, 0}, .prefix_cache = true, .num_snapshots = 8});
  Sequence &first = room.run(8, 8), &second = room.run(20, 8);  // every 8 tokens a state is kept
  room.compute(second, 20);
  EXPECT_TRUE(room.preemption.make_room(first, std::array{2, 0}));
  EXPECT_EQ(second.num_computed, 8) << "one block was missing; three lie behind the checkpoint";
  EXPECT_EQ(room.kv->table(second.kv, 0).num_blocks(), 2);
  EXPECT_EQ(room.kv->table(second.kv, 1).num_blocks(), 1);
  EXPECT_EQ(room.counts.preempted_blocks, 3U);
  EXPECT_TRUE(room.kv->check_integrity());
  room.compute(second, 12);
  EXPECT_TRUE(room.kv->check_integrity());
}

TEST(Preemption, AStateIsRoomToo) {
  RoomHarness room({.num_blocks = 16, .windows = {test::kRecurrent, 0}, .num_snapshots = 3});
  Sequence& first = room.run(8, 8);
  room.run(4, 4);
  Sequence& third = room.run(4, 4);
  EXPECT_TRUE(room.preemption.make_room(first, std::array{0, 1}));
  EXPECT_EQ(third.num_computed, 0);
  EXPECT_EQ(room.block_budget.room(1), 1);
}

TEST(Preemption, TheNextOneGivesUpWhatIsStillMissing) {
  RoomHarness room({.num_blocks = 8});
  Sequence &first = room.run(8, 8), &second = room.run(12, 12), &third = room.run(12, 12);
  EXPECT_TRUE(room.preemption.make_room(first, std::array{4}));
  EXPECT_EQ(third.num_computed, 0);
  EXPECT_EQ(second.num_computed, 8);
  EXPECT_EQ(room.counts.preemptions, 2U);
}

TEST(Preemption, NeverTakesFromABetterRankOrFromOneWithRows) {
  RoomHarness room({.num_blocks = 6});
  Sequence &first = room.run(8, 8), &second = room.run(8, 8), &third = room.run(8, 8);
  third.notes.planned_in_step = room.queues.step();
  EXPECT_FALSE(room.preemption.make_room(second, std::array{1}));
  EXPECT_EQ(room.preemption.victim_for(second), nullptr);
  EXPECT_TRUE(first.is_running() && third.is_running());
  EXPECT_EQ(room.preemption.victim_for(first), &second);
}

TEST(Preemption, APromiseThatWasInTheWayIsTakenBackAndNoBlock) {
  RoomHarness room({.num_blocks = 8});
  Sequence &first = room.run(8, 8), &prompt = room.run(24, 4);  // five blocks are promised to it, all that are free
  EXPECT_FALSE(room.block_budget.has_room_for(std::array{1}));
  EXPECT_TRUE(room.preemption.make_room(first, std::array{1}));
  EXPECT_FALSE(prompt.is_running());
  EXPECT_EQ(prompt.num_computed, 4);
  EXPECT_EQ(room.counts.preempted_blocks, 0U);
}

TEST(Preemption, SharedBlocksBecomeFreeWhenTheLastOneGivesEverythingUp) {
  RoomHarness room({.num_blocks = 4, .prefix_cache = true});
  Sequence& first = room.run(4, 4);
  Sequence& second = room.run(12, 12, 7);
  Sequence& third = room.add(12, 7);
  EXPECT_EQ(room.sharing.extend(third), 8);
  room.queues.start_first(false);
  third.notes.num_admitted_tokens = 8;
  room.block_budget.count_promises(room.queues.running());
  EXPECT_TRUE(room.preemption.make_room(first, std::array{2}));
  EXPECT_FALSE(second.is_running());
  EXPECT_FALSE(third.is_running());
  EXPECT_GE(room.block_budget.room(0), 2);
}

TEST(Preemption, ToAdmitTakesFromRunningOnesOfAnotherOwnerOrLowerPriorityAlone) {
  RoomHarness room({.num_blocks = 4});
  Sequence& running = room.run(16, 16);
  Sequence& best = room.add(4);
  best.notes.rank.virtual_arrival = 0;
  best.notes.counts_of_owner = running.notes.counts_of_owner;
  EXPECT_FALSE(room.preemption.make_room_to_admit(best, std::array{1}));
  best.params.priority = 1;
  EXPECT_TRUE(room.preemption.make_room_to_admit(best, std::array{1}));
  EXPECT_EQ(running.num_computed, 12);
}

TEST(Preemption, ToAdmitTakesNothingWhereItWouldNotBeEnough) {
  RoomHarness room({.num_blocks = 6});
  Sequence &better = room.run(12, 12), &worse = room.run(12, 12);
  Sequence& middle = room.add(16);
  better.notes.rank.virtual_arrival = 0;
  middle.notes.rank.virtual_arrival = 1;
  EXPECT_FALSE(room.preemption.make_room_to_admit(middle, std::array{4}));
  EXPECT_TRUE(worse.is_running());
  EXPECT_EQ(worse.num_computed, 12);
}

TEST(Preemption, PreemptAllLeavesNothingComputed) {
  RoomHarness room({.num_blocks = 4});
  Sequence& sequence = room.run(12, 12);
  room.preemption.preempt_all(sequence);
  EXPECT_EQ(sequence.num_computed, 0);
  EXPECT_EQ(room.block_budget.room(0), 4);
  EXPECT_EQ(room.counts.preempted_blocks, 3U);
  EXPECT_FALSE(room.queues.anybody_holds());
}

}  // namespace
}  // namespace octavo
