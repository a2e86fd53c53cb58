#include "octavo/kv/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <deque>
#include <map>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<BlockId> take(BlockPool& pool, std::size_t count, BlockId hint = kNoBlock) {
  std::vector<BlockId> blocks(count);
  EXPECT_TRUE(pool.allocate_run(blocks, hint));
  return blocks;
}

Result<void> check(const BlockPool& pool, const std::vector<BlockId>& held) {
  const std::array<std::span<const BlockId>, 1> tables = {held};
  return pool.check_integrity(tables);
}

TEST(BlockPool, P2_a_fresh_pool_gives_ascending_ids_and_none_when_empty) {
  BlockPool pool(3);
  EXPECT_EQ(pool.allocate(), 0);
  EXPECT_EQ(pool.allocate(), 1);
  EXPECT_EQ(pool.allocate(), 2);
  EXPECT_EQ(pool.allocate(), kNoBlock);
  EXPECT_EQ(pool.allocate(1), kNoBlock);
}

TEST(BlockPool, P2_utilization_goes_from_zero_to_one_and_back) {
  BlockPool pool(4);
  std::vector<double> seen = {pool.utilization()};
  for (int i = 0; i < 4; ++i) {
    pool.allocate();
    seen.push_back(pool.utilization());
  }
  for (BlockId id = 0; id < 4; ++id) pool.free(id);
  seen.push_back(pool.utilization());
  EXPECT_THAT(seen, ElementsAre(0, .25, .5, .75, 1, 0));
}

TEST(BlockPool, P2_a_pool_of_capacity_zero_has_utilization_zero_and_gives_nothing) {
  BlockPool pool(0);
  EXPECT_EQ(pool.utilization(), 0);
  EXPECT_EQ(pool.allocate(), kNoBlock);
  EXPECT_TRUE(pool.allocate_run({}));
  EXPECT_TRUE(check(pool, {}));
}

TEST(BlockPool, P4_without_a_hint_the_block_freed_last_comes_first) {
  BlockPool pool(8);
  take(pool, 8);
  pool.free(5);
  pool.free(2);
  pool.free(7);
  EXPECT_EQ(pool.allocate(), 7);
  EXPECT_EQ(pool.allocate(), 2);
  EXPECT_EQ(pool.allocate(), 5);
}

TEST(BlockPool, P4_a_hint_takes_the_free_neighbour_first) {
  BlockPool pool(8);
  take(pool, 8);
  for (BlockId id : {3, 6, 1}) pool.free(id);
  EXPECT_EQ(pool.allocate(2), 3);  // 1 was freed last, 3 lies beside
  EXPECT_EQ(pool.allocate(2), 1);  // 3 is taken now
}

TEST(BlockPool, HintAtTheLastBlockHasNoNeighbour) {
  BlockPool pool(2);
  EXPECT_EQ(pool.allocate(1), 0);
}

TEST(BlockPool, P4_runs_are_consecutive_where_possible) {
  BlockPool pool(10);
  EXPECT_THAT(take(pool, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(take(pool, 2, 6), ElementsAre(7, 8));
  EXPECT_THAT(take(pool, 5, 2), ElementsAre(3, 4, 5, 6, 9));
}

TEST(BlockPool, P9_an_allocation_that_does_not_fit_leaves_the_pool_as_it_was) {
  BlockPool pool(4);
  const std::vector<BlockId> held = take(pool, 2);
  std::vector<BlockId> out(3, 77);
  EXPECT_FALSE(pool.allocate_run(out, 1));
  EXPECT_EQ(pool.free_count(), 2);
  EXPECT_THAT(out, ElementsAre(77, 77, 77));
  EXPECT_TRUE(check(pool, held));
  EXPECT_EQ(pool.allocate(), 2);
}

TEST(BlockPool, P4_cached_blocks_are_reused_last_and_least_recently_used_first) {
  BlockPool pool(6);
  std::vector<BlockId> evicted;
  pool.on_evict([&](BlockId id) {
    EXPECT_FALSE(pool.is_cached(id));
    evicted.push_back(id);
  });
  take(pool, 6);
  for (const BlockId id : {0, 1, 2, 3}) ASSERT_TRUE(pool.set_cached(id, true));
  for (const BlockId id : {2, 4, 0, 3, 5, 1}) ASSERT_TRUE(pool.free(id));
  EXPECT_EQ(pool.free_count(), 6);
  EXPECT_EQ(pool.stats().free, 2);
  EXPECT_EQ(pool.stats().cached, 4);
  // A cached neighbour is no reason to forget it while others are free.
  EXPECT_EQ(pool.allocate(1), 5);
  EXPECT_EQ(pool.allocate(), 4);
  EXPECT_TRUE(evicted.empty());
  // Used again, 2 goes behind the others; 3 is not worth keeping any more.
  ASSERT_TRUE(pool.add_reference(2));
  ASSERT_TRUE(pool.free(2));
  ASSERT_TRUE(pool.set_cached(3, false));
  EXPECT_EQ(pool.allocate(), 3);
  EXPECT_THAT(take(pool, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(evicted, ElementsAre(0, 1, 2));
  EXPECT_EQ(pool.stats().evictions, 3U);
  EXPECT_EQ(pool.allocate(), kNoBlock);
  EXPECT_TRUE(check(pool, {0, 1, 2, 3, 4, 5}));
}

TEST(BlockPool, SharedBlockIsFreedByItsLastOwner) {
  BlockPool pool(1);
  const BlockId id = pool.allocate();
  pool.add_reference(id);
  EXPECT_EQ(pool.references(id), 2);
  pool.free(id);
  EXPECT_EQ(pool.free_count(), 0);
  pool.free(id);
  EXPECT_EQ(pool.free_count(), 1);
}

TEST(BlockPool, ReferencesOfAnIdOutOfRangeIsMinusOne) {
  BlockPool pool(2);
  EXPECT_EQ(pool.references(0), 0);
  EXPECT_EQ(pool.references(2), -1);
  EXPECT_EQ(pool.references(-1), -1);
}

TEST(BlockPool, P3_free_twice_or_out_of_range_is_an_error_and_changes_nothing) {
  BlockPool pool(2);
  pool.allocate();
  ASSERT_TRUE(pool.free(0));
  const Result<void> twice = pool.free(0);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "block 0 is not in use");
  for (const BlockId id : {2, -1}) {
    for (const Result<void>& result : {pool.free(id), pool.add_reference(id), pool.set_cached(id, true)}) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().message, "block " + std::to_string(id) + " out of range, the pool has 2");
    }
  }
  EXPECT_EQ(pool.add_reference(1).error().message, "block 1 is not in use");
  EXPECT_EQ(pool.set_cached(1, true).error().message, "block 1 is not in use");
  EXPECT_EQ(pool.free_count(), 2);
  EXPECT_TRUE(check(pool, {}));
}

TEST(BlockPool, IntegrityExplainsALeakedBlock) {
  BlockPool pool(4);
  take(pool, 2);
  const Result<void> result = check(pool, {0});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("block 1: 1 references, 0 tables hold it"));
}

TEST(BlockPool, IntegrityExplainsABlockHeldWithoutReference) {
  BlockPool pool(4);
  const Result<void> result = check(pool, {2});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("block 2: 0 references, 1 tables hold it"));
  EXPECT_FALSE(check(pool, {4}));
}

TEST(BlockPool, MemoryIsBehindBlocksThatWereHandedOutUntilItIsGivenBack) {
  BlockPool pool(8);
  EXPECT_EQ(pool.stats().resident, 0);
  std::vector<BlockId> held = take(pool, 5);
  EXPECT_EQ(pool.stats().resident, 5);
  for (const BlockId id : {3, 1, 2}) ASSERT_TRUE(pool.free(id));
  EXPECT_EQ(pool.stats().resident, 5);
  const BlockPool::Run low = pool.free_run(0), high = pool.free_run(low.first + low.count);
  EXPECT_EQ(low.first, 1);
  EXPECT_EQ(low.count, 3);
  EXPECT_EQ(high.first, 5);
  EXPECT_EQ(high.count, 3);
  EXPECT_EQ(pool.free_run(8).count, 0);
  pool.give_back({.first = 1, .count = 1});
  pool.give_back(high);
  EXPECT_EQ(pool.stats().resident, 4);
  pool.sort_free();
  held = {0, 4};
  EXPECT_TRUE(check(pool, held));
  EXPECT_EQ(pool.allocate(), 2) << "the lowest one with memory";
  EXPECT_EQ(pool.stats().resident, 4);
  EXPECT_EQ(pool.allocate(), 3);
  EXPECT_EQ(pool.allocate(), 1);
  EXPECT_EQ(pool.allocate(), 5);
  EXPECT_EQ(pool.stats().resident, 6);
}

TEST(BlockPool, AllListenersAreToldOfAnEvictionInTheirOrder) {
  BlockPool pool(1);
  std::vector<int> told;
  const ListenerId first = pool.on_evict([&](BlockId id) { told.push_back(id + 1); });
  pool.on_evict([&](BlockId id) { told.push_back(id + 2); });
  const auto evict = [&] {
    ASSERT_EQ(pool.allocate(), 0);
    ASSERT_TRUE(pool.set_cached(0, true));
    ASSERT_TRUE(pool.free(0));
    ASSERT_EQ(pool.allocate(), 0);
    ASSERT_TRUE(pool.free(0));
  };
  evict();
  EXPECT_THAT(told, ElementsAre(1, 2));
  pool.remove_listener(first);
  pool.remove_listener(first);
  evict();
  EXPECT_THAT(told, ElementsAre(1, 2, 2));
}

TEST(BlockPool, EvictAllGivesUpEveryFreeCachedBlockAndNoOther) {
  BlockPool pool(5);
  std::vector<BlockId> evicted;
  pool.on_evict([&](BlockId id) { evicted.push_back(id); });
  take(pool, 5);
  for (const BlockId id : {0, 1, 2}) ASSERT_TRUE(pool.set_cached(id, true));
  for (const BlockId id : {2, 0, 3}) ASSERT_TRUE(pool.free(id));
  EXPECT_EQ(pool.free_run(0).first, 3) << "cached blocks are no part of a run";
  EXPECT_EQ(pool.free_run(0).count, 1);
  pool.evict_all();
  EXPECT_THAT(evicted, ElementsAre(2, 0));
  EXPECT_EQ(pool.stats().cached, 0);
  EXPECT_EQ(pool.stats().free, 3);
  EXPECT_EQ(pool.stats().evictions, 2U);
  EXPECT_TRUE(pool.is_cached(1));
  EXPECT_TRUE(check(pool, {1, 4}));
}

// A model without the ring: blocks in the order in which they would be handed out, and counts.
struct PoolModel {
  std::deque<BlockId> order;
  std::map<BlockId, int> references;

  BlockId allocate(BlockId hint) {
    if (order.empty()) return kNoBlock;
    auto it = hint == kNoBlock ? order.end() : std::ranges::find(order, hint + 1);
    if (it == order.end()) it = order.begin();
    const BlockId id = *it;
    order.erase(it);
    references[id] = 1;
    return id;
  }
  void release(BlockId id) {
    if (--references[id] != 0) return;
    references.erase(id);
    order.push_front(id);
  }
};

RC_GTEST_PROP(BlockPool, RandomWalkAgreesWithASimpleModel, ()) {
  const int capacity = *rc::gen::inRange(0, 24);
  BlockPool pool(capacity);
  PoolModel model;
  for (BlockId id = 0; id < capacity; ++id) model.order.push_back(id);
  std::vector<BlockId> held;  // one entry a reference
  const auto steps = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint16_t>>>(
      rc::gen::pair(rc::gen::inRange<std::uint8_t>(0, 4), rc::gen::arbitrary<std::uint16_t>()));
  for (const auto& [operation, value] : steps) {
    if (operation <= 1) {
      const BlockId hint = value % (capacity + 1) - 1;
      const BlockId id = pool.allocate(hint);
      RC_ASSERT(id == model.allocate(hint));
      if (id != kNoBlock) held.push_back(id);
    } else if (!held.empty()) {
      const std::size_t chosen = value % held.size();
      if (operation == 2) {
        pool.add_reference(held[chosen]);
        ++model.references[held[chosen]];
        held.push_back(held[chosen]);
      } else {
        pool.free(held[chosen]);
        model.release(held[chosen]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
    }
    RC_ASSERT(pool.free_count() == static_cast<int>(model.order.size()));
    RC_ASSERT(check(pool, held).has_value());
  }
}

}  // namespace
}  // namespace octavo
