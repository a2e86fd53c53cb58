// Which snapshot holds whose recurrent state: state slots, forks, copies and what goes back.
#include "kv/state_snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/state_room.h"

namespace octavo {
namespace {

using test::kRecurrent;
using test::tiny_manager;
using ::testing::HasSubstr;

constexpr int kMaxSequences = 1;  // the pool behind the one group

std::unique_ptr<KvCacheManager> manager(int num_snapshots) {
  return tiny_manager({kRecurrent, 0}, 4, 16, true, num_snapshots);
}

std::optional<BlockId> state_slot(const KvCacheManager& kv, SequenceId id) {
  return kv.table(id, kMaxSequences).get(0);
}

TEST(StateSnapshots, ASequenceTakesAStateSlotWhenItFirstAdvances) {
  const auto kv = manager(2);
  ASSERT_TRUE(kv->has_snapshots());
  ASSERT_EQ(kv->num_pools(), 2);
  std::vector<BlockCopy> copies;
  const SequenceId id = kv->create_sequence();
  EXPECT_FALSE(state_slot(*kv, id));
  EXPECT_EQ(kv->blocks_needed(id, kMaxSequences, 0, 3), 1);
  ASSERT_TRUE(kv->reserve(id, 0, 3, copies));
  const std::optional<BlockId> first = state_slot(*kv, id);
  ASSERT_TRUE(first);
  kv->commit(id, 3);
  EXPECT_EQ(kv->blocks_needed(id, kMaxSequences, 3, 9), 0);
  ASSERT_TRUE(kv->reserve(id, 3, 9, copies));
  EXPECT_EQ(state_slot(*kv, id), first);
  EXPECT_TRUE(copies.empty());
  EXPECT_TRUE(kv->check_integrity());
  ASSERT_TRUE(kv->drop_sequence(id));
  EXPECT_EQ(kv->pool(kMaxSequences).free_count(), 2);
}

TEST(StateSnapshots, ForksShareAStateSlotUntilTheyAdvance) {
  const auto kv = manager(3);
  std::vector<BlockCopy> copies;
  const SequenceId parent = kv->create_sequence();
  ASSERT_TRUE(kv->reserve(parent, 0, 4, copies));
  kv->commit(parent, 4);
  const SequenceId child = kv->fork(parent).value(), other = kv->fork(parent).value();
  const std::optional<BlockId> shared = state_slot(*kv, parent);
  EXPECT_EQ(state_slot(*kv, child), shared);
  EXPECT_EQ(kv->blocks_needed(child, kMaxSequences, 4, 5), 1);
  ASSERT_TRUE(kv->reserve(child, 4, 5, copies));
  ASSERT_EQ(copies.size(), 1U);  // the block is full: of the state alone
  EXPECT_EQ(copies[0].group, kMaxSequences);
  EXPECT_EQ(copies[0].from, shared);
  EXPECT_EQ(copies[0].to, state_slot(*kv, child));
  EXPECT_NE(state_slot(*kv, child), shared);
  ASSERT_TRUE(kv->drop_sequence(parent));
  ASSERT_TRUE(kv->reserve(other, 4, 5, copies));  // the last holder writes in place
  EXPECT_EQ(copies.size(), 1U);
  EXPECT_EQ(state_slot(*kv, other), shared);
  EXPECT_TRUE(kv->check_integrity());
}

TEST(StateSnapshots, WithoutAFreeStateSlotNothingIsReserved) {
  const auto kv = manager(1);
  std::vector<BlockCopy> copies;
  const SequenceId first = kv->create_sequence(), second = kv->create_sequence();
  ASSERT_TRUE(kv->reserve(first, 0, 4, copies));
  const int free = kv->pool(0).free_count();
  const Result<void> refused = kv->reserve(second, 0, 4, copies);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("needs 1 blocks, 0 are free"));
  EXPECT_EQ(kv->pool(0).free_count(), free);
  EXPECT_TRUE(kv->check_integrity());
}

TEST(StateSnapshots, ASequenceIsCutToNothingOrNotAtAll) {
  const auto kv = manager(1);
  std::vector<BlockCopy> copies;
  const SequenceId id = kv->create_sequence();
  ASSERT_TRUE(kv->reserve(id, 0, 10, copies));
  kv->commit(id, 10);
  EXPECT_TRUE(kv->truncate(id, 10));
  EXPECT_FALSE(kv->truncate(id, 8));
  EXPECT_EQ(kv->sequence_length(id), 10);
  EXPECT_TRUE(kv->truncate(id, 0));
  EXPECT_FALSE(state_slot(*kv, id));
  EXPECT_EQ(kv->pool(kMaxSequences).free_count(), 1);
}

TEST(StateSnapshots, FreeOnesGoBackAndAreCounted) {
  const auto kv = manager(3);
  std::vector<BlockCopy> copies;
  const SequenceId id = kv->create_sequence(), kept = kv->create_sequence();
  ASSERT_TRUE(kv->reserve(kept, 0, 1, copies));
  ASSERT_TRUE(kv->reserve(id, 0, 1, copies));
  const std::uint64_t of_two = kv->stats().referenced_bytes;
  ASSERT_TRUE(kv->drop_sequence(id));
  EXPECT_EQ(of_two - kv->stats().referenced_bytes, 64 + 4 * 8U);  // a snapshot, and a block of 4 tokens
  std::vector<BlockRun> runs;
  kv->release_memory(true, runs);
  EXPECT_LE(runs.size(), kv->most_released_runs());
  int released = 0;
  for (const BlockRun& run : runs)
    if (run.group == kMaxSequences) released += run.count;
  EXPECT_EQ(released, 2) << "one is held";
}

}  // namespace
}  // namespace octavo
