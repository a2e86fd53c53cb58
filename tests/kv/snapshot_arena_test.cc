// The bytes of recurrent states, and how a memory is divided among them and blocks.
#include "kv/snapshot_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv/kv_budget.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A layer of attention between two recurrent ones, of 100 and 200 bytes; a block takes 128 bytes.
StateLayout layout(KvLayout kind = KvLayout::kPaged) {
  const std::vector<std::optional<KvLayerShape>> layers = {
      std::nullopt, KvLayerShape{.num_kv_heads = 1, .k_dim = 1, .v_dim = 1}, std::nullopt};
  const std::vector<std::size_t> recurrent = {100, 0, 200};
  return StateLayout::create(KvType::kF32, kind, 16, layers, recurrent).value();
}

TEST(SnapshotArena, StatesLieOneBehindAnotherAtCacheLines) {
  const SnapshotShape shape = layout().snapshot;
  EXPECT_EQ(shape.bytes, 128U + 256);
  EXPECT_THAT(shape.places, ElementsAre(0U, std::nullopt, 128U));
}

TEST(SnapshotArena, CopiesAreOfTheWholeStateAndOfNothingElse) {
  const StateRoom room = make_room(layout(), {.num_blocks = 4, .num_snapshots = 3}).value();
  SnapshotArena arena = SnapshotArena::create(room).value();
  for (int i = 0; i < 3; ++i)
    for (const int layer : {0, 2}) arena.state(i, layer)[0] = static_cast<float>(10 * i + layer);
  const BlockCopy copies[] = {{.group = 0, .from = 2, .to = 1}, {.group = 1, .from = 0, .to = 2}};
  arena.copy(copies);  // the first one is of blocks
  EXPECT_EQ(arena.state(1, 0)[0], 10);
  EXPECT_EQ(arena.state(2, 0)[0], 0);
  EXPECT_EQ(arena.state(2, 2)[0], 2);
}

TEST(SnapshotArena, StatesOfLayersThatLieElsewhereTakeNoMemory) {
  const StateRoom room = make_room(layout(), {.num_blocks = 4, .num_snapshots = 2}).value();
  SnapshotArena first = SnapshotArena::create(room, {.first = 0, .end = 1}).value();
  SnapshotArena behind = SnapshotArena::create(room, {.first = 1}).value();
  EXPECT_EQ(first.state(1, 0) - first.state(0, 0), 128 / 4);
  EXPECT_EQ(behind.state(1, 2) - behind.state(0, 2), 256 / 4);
  first.state(0, 0)[0] = 3;
  behind.state(0, 2)[0] = 7;
  const BlockCopy copies[] = {{.group = 1, .from = 0, .to = 1}};
  first.copy(copies);
  behind.copy(copies);
  EXPECT_EQ(first.state(1, 0)[0], 3);
  EXPECT_EQ(behind.state(1, 2)[0], 7);
  EXPECT_DEATH(behind.state(0, 0), "layer 0 has no state here");
  EXPECT_EQ(room.layout.snapshot.bytes_of_first(0), 0U);
  EXPECT_EQ(room.layout.snapshot.bytes_of_first(1), 128U);
  EXPECT_EQ(room.layout.snapshot.bytes_of_first(3), 384U);
}

TEST(SnapshotArena, TakesHalfOfTheMemoryAtMostAndHoldsOneStateAtLeast) {
  const auto room = [](std::uint64_t bytes, int max_sequences) {
    return make_room(layout(), {.bytes = bytes, .max_sequences = max_sequences}).value();
  };
  EXPECT_EQ(room(10'000, 4).num_snapshots, 4);
  EXPECT_EQ(room(10'000, 100).num_snapshots, 5'000 / 384);
  EXPECT_EQ(room(600, 100).num_snapshots, 1);
  for (const std::uint64_t bytes : {600U, 10'000U, 10'100U}) {
    const StateRoom made = room(bytes, 100);
    EXPECT_EQ(made.bytes(), made.block_bytes() + static_cast<std::uint64_t>(made.num_snapshots) * 384);
    EXPECT_LE(made.bytes(), bytes);
    EXPECT_GT(made.bytes() + 128, bytes);
  }
}

TEST(SnapshotArena, CheckpointsTakeAQuarterOfWhatSequencesLeaveAndNoMoreThanIsOfUse) {
  const auto room = [](const KvBudget& budget) { return make_room(layout(), budget).value().num_snapshots; };
  EXPECT_EQ(room({.bytes = 100'000, .max_sequences = 4, .checkpoints = true}), 4 + (100'000 - 4 * 384) / 4 / 384);
  EXPECT_EQ(room({.bytes = 100'000, .max_sequences = 200, .checkpoints = true}), 100'000 / 2 / 384);
  // A snapshot is as large as the keys and values of 48 tokens.
  EXPECT_EQ(layout().tokens_of_a_snapshot(), 48);
  EXPECT_EQ(room({.bytes = 100'000, .max_tokens = 480, .max_sequences = 4, .checkpoints = true}), 4 + 480 / 48 + 1);
  EXPECT_EQ(room({.bytes = 600, .max_sequences = 4, .checkpoints = true}), 1);
  EXPECT_EQ(make_room(layout(KvLayout::kContiguous), {.bytes = 10'000, .checkpoints = true}).value().num_snapshots, 1);
}

// What `octavo info` tells of a memory: one state, and the blocks of the longest context.
TEST(SnapshotArena, ARequiredSequenceComesBeforeAllStatesButOne) {
  for (int tokens = 16; tokens <= 1200; tokens += 16) {
    for (const std::uint64_t more : {0U, 300U, 5000U}) {
      const std::uint64_t bytes = 384 + static_cast<std::uint64_t>(tokens) * 8 + more;
      const StateRoom room = make_room(layout(), {.bytes = bytes,
                                                  .max_tokens = std::int64_t{tokens} * 300,
                                                  .longest_sequence = tokens,
                                                  .max_sequences = 256,
                                                  .required_sequence = tokens,
                                                  .checkpoints = true})
                                 .value();
      EXPECT_GE(room.longest_sequence(), tokens) << more;
      EXPECT_GE(room.num_snapshots, 1);
      EXPECT_LE(room.bytes(), bytes);
    }
  }
}

TEST(SnapshotArena, AMemoryThatHoldsNoStateIsRefused) {
  const auto refused = make_room(layout(), {.bytes = 383, .max_sequences = 1});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("a KV memory of 383 bytes holds no recurrent state: that of one sequence takes 384 bytes"));
}

TEST(SnapshotArena, TheContiguousLayoutHasOne) {
  const StateRoom room = make_room(layout(KvLayout::kContiguous), {.bytes = 10'000, .max_sequences = 4}).value();
  EXPECT_EQ(room.num_snapshots, 1);
  EXPECT_LE(static_cast<std::uint64_t>(room.layout.block_size) * 8, 10'000U - 384);
}

}  // namespace
}  // namespace octavo
