#include "octavo/kv/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace octavo {
namespace {

using ::testing::ElementsAre;
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

GivenRows given(std::int32_t first, std::int32_t count, std::uint8_t name, std::int32_t index = 0) {
  return {.first = first, .count = count, .index = index, .digest = {{name}}};
}

// Under one hash, as of a hasher that sees nothing: what was given is compared, too.
TEST(PrefixCache, P17_equal_hashes_and_tokens_with_unequal_given_rows_never_match) {
  BlockPool pool(4);
  PrefixCache cache(pool, 2);
  const std::vector<TokenId> ids = tokens(1);
  const std::vector<GivenRows> one = {given(1, 1, 1)}, other = {given(1, 1, 2)}, later = {given(1, 1, 1, 5)},
                               longer = {given(0, 2, 1)};
  ASSERT_EQ(pool.allocate(), 0);
  ASSERT_EQ(pool.allocate(), 1);
  ASSERT_EQ(cache.publish(0, hash_of(7), kRoot, RowSource(ids, one)), 0);
  EXPECT_EQ(cache.find(hash_of(7), kRoot, RowSource(ids, one)), 0);
  EXPECT_EQ(cache.find(hash_of(7), kRoot, ids), kNoBlock);
  for (const std::vector<GivenRows>& unequal : {other, later, longer}) {
    EXPECT_EQ(cache.find(hash_of(7), kRoot, RowSource(ids, unequal)), kNoBlock);
    EXPECT_EQ(cache.publish(1, hash_of(7), kRoot, RowSource(ids, unequal)), kNoBlock);
  }
  cache.unpublish(0);
  ASSERT_EQ(cache.publish(0, hash_of(7), kRoot, ids), 0);  // a block of tokens alone, where another one was
  EXPECT_EQ(cache.find(hash_of(7), kRoot, ids), 0);
  EXPECT_EQ(cache.find(hash_of(7), kRoot, RowSource(ids, one)), kNoBlock);
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

TEST(PrefixCache, AllListenersAreToldOfABlockThatIsForgotten) {
  BlockPool pool(1);
  std::vector<std::string> told;
  const ListenerId of_pool = pool.on_evict([&](BlockId) { told.emplace_back("pool"); });
  {
    PrefixCache cache(pool, 2);
    const ListenerId first = cache.on_forget([&](BlockId block, const BlockHash& hash) {
      EXPECT_EQ(block, 0);
      EXPECT_EQ(hash, hash_of(1));
      told.emplace_back("first");
    });
    cache.on_forget([&](BlockId, const BlockHash&) { told.emplace_back("second"); });
    const auto publish_and_evict = [&] {
      ASSERT_EQ(pool.allocate(), 0);
      ASSERT_EQ(cache.publish(0, hash_of(1), kRoot, tokens(1)), 0);
      ASSERT_TRUE(pool.free(0));
      pool.evict_all();
    };
    publish_and_evict();
    EXPECT_THAT(told, ElementsAre("pool", "first", "second"));
    EXPECT_EQ(cache.num_published(), 0);
    cache.remove_listener(first);
    told.clear();
    publish_and_evict();
    EXPECT_THAT(told, ElementsAre("pool", "second"));
  }
  told.clear();
  ASSERT_EQ(pool.allocate(), 0);  // the cache is gone, and the pool's own listener is told on
  ASSERT_TRUE(pool.set_cached(0, true));
  ASSERT_TRUE(pool.free(0));
  ASSERT_EQ(pool.allocate(), 0);
  EXPECT_THAT(told, ElementsAre("pool"));
  pool.remove_listener(of_pool);
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

// The numbers are those of another implementation (SipHash-2-4-128 of little-endian links and bytes), so that whatever
// is kept under them is found by a later version.
TEST(BlockHasher, OneKeyGivesTheSameHashesInEveryProcess) {
  BlockHashKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  const BlockHasher hasher = *make_block_hasher(key), again = *make_block_hasher(key);
  const BlockHash origin = BlockChain::origin(hasher, "model", "layout");
  EXPECT_EQ(origin, (BlockHash{0xf387d3ab3e52c566, 0xc4f8601fd81ad1f5}));
  const BlockHash root = BlockChain::root(hasher, "domain", origin);
  EXPECT_EQ(root, (BlockHash{0xbed4ed7aa64e810e, 0x38147060eb60b5a0}));
  const std::vector<TokenId> ids = {1, 2, 3, 4};
  EXPECT_EQ(BlockChain::next(hasher, root, ids), (BlockHash{0xf1699ac3c1c570de, 0x5babc731fc1262fa}));
  const std::vector<GivenRows> picture = {given(1, 2, 7, 5)};
  EXPECT_EQ(BlockChain::next(hasher, root, RowSource(ids, picture)),
            (BlockHash{0x94de53b6b950f3cf, 0xd25ea4795af4cf34}));
  EXPECT_EQ(BlockChain::root(again, "domain", BlockChain::origin(again, "model", "layout")), root);
}

TEST(BlockHasher, AnotherModelOrLayoutHasAnotherRootOfTheSameDomain) {
  const BlockHasher hasher = *make_block_hasher();
  std::set<std::uint64_t> roots;
  for (const std::string_view model : {"one", "other"})
    for (const std::string_view layout : {"f16 of 16", "f16 of 32"})
      roots.insert(BlockChain::root(hasher, "a", BlockChain::origin(hasher, model, layout)).low);
  roots.insert(BlockChain::root(hasher, "a").low);
  EXPECT_EQ(roots.size(), 5U);
}

}  // namespace
}  // namespace octavo
