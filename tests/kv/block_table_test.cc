#include "octavo/kv/block_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<BlockId> ids(const BlockTable& table) { return {table.block_ids().begin(), table.block_ids().end()}; }

TEST(BlockTable, P6_five_tokens_at_block_size_four_take_two_blocks) {
  BlockPool pool(8);
  BlockTable table(pool, 4);
  EXPECT_TRUE(table.ensure_capacity(5));
  EXPECT_EQ(table.num_blocks(), 2);
  EXPECT_EQ(table.token_capacity(), 8);
  EXPECT_EQ(pool.free_count(), 6);
}

TEST(BlockTable, EnsureCapacityIsIdempotentAndNeverShrinks) {
  BlockPool pool(8);
  BlockTable table(pool, 4);
  EXPECT_TRUE(table.ensure_capacity(20));
  EXPECT_TRUE(table.ensure_capacity(20));
  EXPECT_TRUE(table.ensure_capacity(1));
  EXPECT_EQ(table.num_blocks(), 5);
}

TEST(BlockTable, P6_get_is_none_out_of_range) {
  BlockPool pool(4);
  BlockTable table(pool, 4);
  ASSERT_TRUE(table.ensure_capacity(8));
  EXPECT_EQ(table.get(1), 1);
  EXPECT_EQ(table.get(2), std::nullopt);
  EXPECT_EQ(table.get(-1), std::nullopt);
}

TEST(BlockTable, P9_failed_growth_changes_nothing) {
  BlockPool pool(3);
  BlockTable table(pool, 4);
  ASSERT_TRUE(table.ensure_capacity(4));
  EXPECT_FALSE(table.ensure_capacity(17));
  EXPECT_THAT(ids(table), ElementsAre(0));
  EXPECT_EQ(pool.free_count(), 2);
}

TEST(BlockTable, HugeTokenCountDoesNotFitAndDoesNotWrap) {
  BlockPool pool(3);
  BlockTable table(pool, 1);
  EXPECT_FALSE(table.ensure_capacity(INT64_MAX));
  EXPECT_EQ(table.num_blocks(), 0);
}

TEST(BlockTable, P4_a_sequence_that_grows_alone_lies_in_one_run) {
  BlockPool pool(64);
  BlockTable table(pool, 16);
  for (int tokens = 1; tokens <= 1024; ++tokens) ASSERT_TRUE(table.ensure_capacity(tokens));
  EXPECT_EQ(table.num_blocks(), 64);
  EXPECT_EQ(table.num_runs(), 1);
}

TEST(BlockTable, TwoSequencesThatGrowInTurnsKeepTheirNeighboursWhereFree) {
  BlockPool pool(64);
  BlockTable first(pool, 4);
  ASSERT_TRUE(first.ensure_capacity(4 * 8));
  BlockTable second(pool, 4);
  ASSERT_TRUE(second.ensure_capacity(4 * 4));
  first.truncate(4 * 2);
  ASSERT_TRUE(first.ensure_capacity(4 * 8));
  EXPECT_THAT(ids(first), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(ids(second), ElementsAre(8, 9, 10, 11));
}

TEST(BlockTable, P18_truncate_gives_back_tail_blocks_only) {
  BlockPool pool(8);
  BlockTable table(pool, 4);
  ASSERT_TRUE(table.ensure_capacity(20));
  table.truncate(9);
  EXPECT_THAT(ids(table), ElementsAre(0, 1, 2));
  table.truncate(100);
  EXPECT_EQ(table.num_blocks(), 3);
  table.truncate(0);
  EXPECT_EQ(pool.free_count(), 8);
}

TEST(BlockTable, BlocksOfADroppedTableComeBackInAscendingOrder) {
  BlockPool pool(8);
  {
    BlockTable table(pool, 4);
    ASSERT_TRUE(table.ensure_capacity(20));
  }
  BlockTable next(pool, 4);
  ASSERT_TRUE(next.ensure_capacity(12));
  EXPECT_THAT(ids(next), ElementsAre(0, 1, 2));
}

TEST(BlockTable, AppendTakesOverTheCallersReference) {
  BlockPool pool(2);
  BlockTable first(pool, 4), second(pool, 4);
  ASSERT_TRUE(first.ensure_capacity(4));
  ASSERT_TRUE(pool.add_reference(0));
  second.append(0);
  first.truncate(0);
  EXPECT_EQ(pool.references(0), 1);
  second.truncate(0);
  EXPECT_EQ(pool.references(0), 0);
}

TEST(BlockTable, ReleaseBeforeGivesBackLeadingBlocksAndKeepsTheirEntries) {
  BlockPool pool(8);
  BlockTable table(pool, 4);
  ASSERT_TRUE(table.ensure_capacity(20));
  table.release_before(3);
  EXPECT_EQ(table.first_held(), 0);
  table.release_before(11);
  EXPECT_THAT(ids(table), ElementsAre(kNoBlock, kNoBlock, 2, 3, 4));
  EXPECT_EQ(table.first_held(), 2);
  EXPECT_EQ(table.get(1), std::nullopt);
  EXPECT_EQ(table.get(2), 2);
  EXPECT_EQ(table.num_blocks(), 5);
  EXPECT_EQ(table.token_capacity(), 20);
  EXPECT_EQ(table.num_runs(), 1);
  EXPECT_EQ(pool.free_count(), 5);
  table.release_before(-5);
  table.release_before(1000);
  EXPECT_EQ(table.first_held(), 5);
  EXPECT_EQ(pool.free_count(), 8);
  ASSERT_TRUE(table.ensure_capacity(24));
  EXPECT_NE(table.get(5), std::nullopt);
  table.truncate(8);
  EXPECT_EQ(table.first_held(), 2);
  EXPECT_EQ(pool.free_count(), 8);
}

TEST(BlockTable, AppendOfNoBlockCountsAsGivenBackAndReplaceSwapsReferences) {
  BlockPool pool(4);
  BlockTable table(pool, 4);
  table.append(kNoBlock);
  table.append(pool.allocate());
  const BlockId other = pool.allocate();
  EXPECT_EQ(table.first_held(), 1);
  table.replace(1, other);
  EXPECT_EQ(table.get(1), other);
  EXPECT_EQ(pool.references(0), 0);
  EXPECT_EQ(pool.references(other), 1);
}

TEST(BlockTableDeathTest, P3_wrong_counts_end_the_process) {
  BlockPool pool(2);
  BlockTable table(pool, 4);
  ASSERT_TRUE(table.ensure_capacity(4));
  EXPECT_DEATH(table.append(1), "block 1");  // not referenced
  EXPECT_DEATH(table.append(kNoBlock), "behind a block that is held");
  EXPECT_DEATH(table.replace(1, 0), "entry 1 of 1");
  EXPECT_DEATH(
      {
        (void)pool.free(0);
        table.truncate(0);
      },
      "block 0 is not in use");
}

TEST(BlockTable, MovingHandsOverTheBlocks) {
  BlockPool pool(4);
  BlockTable table(pool, 4);
  ASSERT_TRUE(table.ensure_capacity(8));
  BlockTable moved = std::move(table);
  EXPECT_EQ(moved.num_blocks(), 2);
  BlockTable other(pool, 4);
  ASSERT_TRUE(other.ensure_capacity(4));
  other = std::move(moved);
  EXPECT_EQ(pool.free_count(), 2);
}

RC_GTEST_PROP(BlockTable, RandomGrowthAndTruncationKeepsEveryCountExplained, ()) {
  const int block_size = 1 << *rc::gen::inRange(0, 5);
  const int capacity = *rc::gen::inRange(0, 40);
  BlockPool pool(capacity);
  std::vector<BlockTable> tables;
  for (int i = 0; i < 4; ++i) tables.emplace_back(pool, block_size);
  const auto steps = *rc::gen::container<std::vector<std::array<int, 3>>>(
      rc::gen::container<std::array<int, 3>>(rc::gen::inRange(0, 40 * block_size)));
  for (const auto& [which, tokens, operation] : steps) {
    BlockTable& table = tables[static_cast<std::size_t>(which) % tables.size()];
    const std::vector<BlockId> before = ids(table);
    const int free_before = pool.free_count();
    if (operation % 3 == 0) {
      table.truncate(tokens);
      RC_ASSERT(table.token_capacity() < tokens + block_size);
    } else {
      const int missing = table.blocks_missing(tokens);
      const bool fits = table.ensure_capacity(tokens);
      RC_ASSERT(fits == (missing <= free_before));
      RC_ASSERT(pool.free_count() == free_before - (fits ? missing : 0));
      RC_ASSERT(std::ranges::equal(before, table.block_ids().first(before.size())));
      if (fits) RC_ASSERT(table.token_capacity() >= tokens);
    }
    std::vector<std::span<const BlockId>> held;
    for (const BlockTable& each : tables) held.push_back(each.block_ids());
    RC_ASSERT(pool.check_integrity(held).has_value());
  }
}

}  // namespace
}  // namespace octavo
