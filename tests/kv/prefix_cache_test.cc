#include "octavo/kv/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace octavo {
namespace {

using ::testing::HasSubstr;

constexpr BlockHash kRoot{1, 1};
BlockHash hash_of(std::uint64_t number) { return {number, ~number}; }
std::vector<TokenId> tokens(TokenId first) { return {first, first + 1}; }

TEST(PrefixCache, P17_a_published_block_is_found_by_hash_parent_and_tokens) {
  BlockPool pool(4);
  PrefixCache cache(pool, 2);
  const BlockId block = pool.allocate();
  EXPECT_EQ(cache.find(hash_of(7), kRoot, tokens(1)), kNoBlock);
  EXPECT_EQ(cache.publish(block, hash_of(7), kRoot, tokens(1)), block);
  EXPECT_EQ(cache.find(hash_of(7), kRoot, tokens(1)), block);
  EXPECT_EQ(cache.find(hash_of(7), kRoot, tokens(2)), kNoBlock);
  EXPECT_EQ(cache.find(hash_of(7), hash_of(2), tokens(1)), kNoBlock);
  EXPECT_EQ(cache.find(hash_of(8), kRoot, tokens(1)), kNoBlock);
  EXPECT_EQ(cache.find(hash_of(7), kRoot, std::vector<TokenId>{1}), kNoBlock);
  EXPECT_TRUE(cache.is_published(block));
  EXPECT_EQ(cache.num_published(), 1);
  EXPECT_TRUE(cache.check_integrity());
}

TEST(PrefixCache, P17_a_freed_block_stays_findable_until_the_pool_needs_it) {
  BlockPool pool(2);
  PrefixCache cache(pool, 2);
  const BlockId block = pool.allocate();
  ASSERT_EQ(cache.publish(block, hash_of(7), kRoot, tokens(1)), block);
  ASSERT_TRUE(pool.free(block));
  EXPECT_EQ(cache.find(hash_of(7), kRoot, tokens(1)), block);
  ASSERT_TRUE(pool.add_reference(block));
  EXPECT_EQ(pool.references(block), 1);
  ASSERT_TRUE(pool.free(block));
  EXPECT_NE(pool.allocate(), block);  // the other one is not cached
  EXPECT_EQ(pool.allocate(), block);
  EXPECT_EQ(cache.find(hash_of(7), kRoot, tokens(1)), kNoBlock);
  EXPECT_FALSE(cache.is_published(block));
  EXPECT_EQ(pool.stats().evictions, 1U);
  EXPECT_TRUE(cache.check_integrity());
}

TEST(PrefixCache, P17_equal_contents_are_published_once) {
  BlockPool pool(4);
  PrefixCache cache(pool, 2);
  const BlockId first = pool.allocate(), second = pool.allocate();
  ASSERT_EQ(cache.publish(first, hash_of(7), kRoot, tokens(1)), first);
  EXPECT_EQ(cache.publish(second, hash_of(7), kRoot, tokens(1)), first);
  EXPECT_EQ(cache.publish(first, hash_of(7), kRoot, tokens(1)), first);
  EXPECT_FALSE(cache.is_published(second));
  EXPECT_EQ(cache.num_published(), 1);
}

TEST(PrefixCache, P17_equal_hashes_with_unequal_tokens_or_parents_never_match) {
  BlockPool pool(4);
  PrefixCache cache(pool, 2);
  const BlockId first = pool.allocate(), second = pool.allocate();
  ASSERT_EQ(cache.publish(first, hash_of(7), kRoot, tokens(1)), first);
  EXPECT_EQ(cache.publish(second, hash_of(7), kRoot, tokens(5)), kNoBlock);
  EXPECT_EQ(cache.publish(second, hash_of(7), hash_of(3), tokens(1)), kNoBlock);
  EXPECT_FALSE(cache.is_published(second));
  EXPECT_EQ(cache.find(hash_of(7), kRoot, tokens(5)), kNoBlock);
  EXPECT_TRUE(cache.check_integrity());
}

TEST(PrefixCache, P17_a_chain_is_known_by_its_blocks_not_by_its_hashes) {
  BlockPool pool(4);
  PrefixCache cache(pool, 2);
  for (int i = 0; i < 4; ++i) pool.allocate();
  ASSERT_EQ(cache.publish(0, hash_of(1), kRoot, tokens(1)), 0);
  ASSERT_EQ(cache.publish(1, hash_of(2), hash_of(1), tokens(2), 0), 1);
  EXPECT_EQ(cache.find(hash_of(2), hash_of(1), tokens(2), 0), 1);
  EXPECT_EQ(cache.find(hash_of(2), hash_of(1), tokens(2), 3), kNoBlock);
  EXPECT_EQ(cache.find(hash_of(2), hash_of(1), tokens(2)), kNoBlock);
  EXPECT_EQ(cache.publish(2, hash_of(3), hash_of(9), tokens(3), 1), kNoBlock);  // 1 has another hash
  EXPECT_EQ(cache.publish(2, hash_of(3), hash_of(9), tokens(3), 3), kNoBlock);  // 3 is not published
  EXPECT_EQ(cache.num_published(), 2);
  EXPECT_TRUE(cache.check_integrity());
}

TEST(PrefixCache, UnpublishTakesAllThatFollows) {
  BlockPool pool(8);
  PrefixCache cache(pool, 2);
  // 0 - 1 - 2
  //   \ 3 - 4     and 5 on its own
  const std::vector<std::uint64_t> parents = {99, 0, 1, 0, 3, 99};
  for (BlockId id = 0; id < 6; ++id) {
    ASSERT_EQ(pool.allocate(), id);
    const std::uint64_t parent = parents[static_cast<std::size_t>(id)];
    const BlockId before = parent == 99 ? kNoBlock : static_cast<BlockId>(parent);
    ASSERT_EQ(cache.publish(id, hash_of(static_cast<std::uint64_t>(id)), hash_of(parent), tokens(id), before), id);
  }
  cache.unpublish(3);
  EXPECT_FALSE(cache.is_published(3));
  EXPECT_FALSE(cache.is_published(4));
  EXPECT_EQ(cache.num_published(), 4);
  EXPECT_TRUE(cache.check_integrity());
  cache.unpublish(0);
  EXPECT_EQ(cache.num_published(), 1);
  EXPECT_TRUE(cache.is_published(5));
  EXPECT_TRUE(cache.check_integrity());
}

TEST(PrefixCache, P17_no_block_outlives_its_parent_in_a_chain_and_any_may_in_a_window) {
  for (const bool chained : {true, false}) {
    BlockPool pool(2);
    PrefixCache cache(pool, 2, chained);
    std::vector<BlockHash> forgotten;
    cache.on_forget([&](BlockId, const BlockHash& hash) { forgotten.push_back(hash); });
    ASSERT_EQ(pool.allocate(), 0);
    ASSERT_EQ(pool.allocate(), 1);
    ASSERT_EQ(cache.publish(0, hash_of(1), kRoot, tokens(1)), 0);
    ASSERT_EQ(cache.publish(1, hash_of(2), hash_of(1), tokens(2), 0), 1);
    ASSERT_TRUE(pool.free(0));  // the parent goes first
    ASSERT_EQ(pool.allocate(), 0);
    EXPECT_EQ(cache.is_published(1), !chained);
    EXPECT_EQ(forgotten.size(), chained ? 2U : 1U);
    EXPECT_TRUE(cache.check_integrity());
  }
}

TEST(PrefixCache, WrongArgumentsAreErrorsAndChangeNothing) {
  BlockPool pool(2);
  PrefixCache cache(pool, 2);
  const auto error = [&](BlockId block, const std::vector<TokenId>& given) {
    const Result<BlockId> result = cache.publish(block, hash_of(1), kRoot, given);
    return result ? std::string("none") : result.error().message;
  };
  EXPECT_EQ(error(0, tokens(1)), "block 0 is not in use");
  EXPECT_EQ(error(2, tokens(1)), "block 2 out of range, the pool has 2");
  ASSERT_EQ(pool.allocate(), 0);
  EXPECT_EQ(error(0, {1, 2, 3}), "wrong length: found 3 elements, expected 2");
  EXPECT_EQ(cache.num_published(), 0);
  EXPECT_FALSE(cache.hash_of(-1));
  cache.unpublish(1);
  cache.unpublish(-1);
}

TEST(PrefixCache, IntegrityNoticesACachedFlagThatNobodySet) {
  BlockPool pool(2);
  PrefixCache cache(pool, 2);
  ASSERT_EQ(pool.allocate(), 0);
  ASSERT_TRUE(pool.set_cached(0, true));
  const Result<void> result = cache.check_integrity();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("block 0 is not published, the pool says otherwise"));
}

// All hashes meet in a few places of the index, so that probing and closing gaps is exercised.
TEST(PrefixCache, CrowdedIndexFindsExactlyWhatIsPublished) {
  BlockPool pool(64);
  PrefixCache cache(pool, 2, false);
  for (int i = 0; i < 64; ++i) pool.allocate();
  std::map<std::uint64_t, BlockId> known;
  std::mt19937 random(4);
  for (int i = 0; i < 20'000; ++i) {
    const auto block = static_cast<BlockId>(random() % 64);
    const std::uint64_t number = random() % 128;
    const BlockHash hash{(number % 5) * 37, number};
    if (cache.is_published(block)) {
      known.erase(cache.hash_of(block)->high);
      cache.unpublish(block);
    } else if (!known.contains(number)) {
      ASSERT_EQ(cache.publish(block, hash, kRoot, tokens(static_cast<TokenId>(number))), block);
      known[number] = block;
    }
    ASSERT_EQ(cache.num_published(), static_cast<int>(known.size()));
    const std::uint64_t asked = random() % 128;
    const auto found = known.find(asked);
    ASSERT_EQ(cache.find({(asked % 5) * 37, asked}, kRoot, tokens(static_cast<TokenId>(asked))),
              found == known.end() ? kNoBlock : found->second);
    ASSERT_TRUE(i % 64 != 0 || cache.check_integrity().has_value());
  }
}

TEST(BlockHasher, DependsOnEveryArgumentAndOnTheKey) {
  const BlockHasher one = *make_block_hasher(), two = *make_block_hasher();
  const BlockHash root = BlockChain::root(one, "a");
  const std::vector<TokenId> block = {1, 2, 3, 4};
  const BlockHash hash = BlockChain::next(one, root, block);
  EXPECT_EQ(BlockChain::next(one, root, block), hash);
  const BlockHasher copy = one;
  EXPECT_EQ(BlockChain::next(copy, root, block), hash);
  EXPECT_NE(BlockChain::root(one, "b"), root);
  EXPECT_NE(BlockChain::root(one, ""), root);
  EXPECT_NE(BlockChain::next(one, BlockChain::root(one, "b"), block), hash);
  EXPECT_NE(BlockChain::next(one, root, std::vector<TokenId>{1, 2, 3, 5}), hash);
  EXPECT_NE(BlockChain::next(one, {root.low, root.high ^ 1}, block), hash);
  EXPECT_NE(BlockChain::next(one, {root.low ^ 1, root.high}, block), hash);
  EXPECT_NE(BlockChain::root(two, "a"), root);
}

}  // namespace
}  // namespace octavo
