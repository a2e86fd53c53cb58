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
  const std::vector<std::optional<KvLayerShape>> layers = {std::nullopt, KvLayerShape{.num_kv_heads = 1, .head_dim = 1},
                                                           std::nullopt};
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
