// Memory of the KV arena: the system provides it as blocks are written, and gets it back from release_memory().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv/kv_arena.h"
#include "kv_library/kv_values.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr int kBlocks = 512;

/// Blocks of 16 tokens that take 64 KiB in a layer; a layer's 512 blocks take 32 MiB. Layer 1 sees all, the others a
/// window of 32 tokens where `windowed`.
PagedKvOptions large(bool windowed = false) {
  const int window = windowed ? 32 : 0;
  return {.type = KvType::kF32,
          .num_kv_heads = 4,
          .head_dim = 128,
          .layer_windows = {window, 0, window},
          .num_blocks = kBlocks};
}

constexpr std::uint64_t kBlockBytes = 3 * 64 * 1024;  // all layers

std::uint64_t resident(const PagedKvCache& cache) { return cache.arena().resident_bytes(); }

std::vector<TokenId> text(int num_tokens, TokenId first) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < num_tokens; ++i) tokens.push_back(first + i % 50);
  return tokens;
}

/// A sequence of so many tokens, in steps of a block; its values are counted from `x`.
SequenceId make_sequence(PagedKvCache& cache, int num_tokens, float x) {
  const SequenceId id = cache.create_sequence();
  for (int end = 16; end <= num_tokens; end += 16) EXPECT_TRUE(step_to(cache, id, end, x));
  return id;
}

TEST(PagedKvRelease, MemoryGrowsWithTheBlocksInUseAndIsGivenBack) {
  const auto cache = make_cache(large());
  EXPECT_EQ(resident(*cache), 0U) << "making an arena of 96 MiB touches none of it";
  EXPECT_EQ(cache->stats().resident_bytes, 0U);
  const SequenceId a = make_sequence(*cache, 4 * 16, 0);
  EXPECT_EQ(cache->stats().resident_bytes, 4 * kBlockBytes);
  EXPECT_GE(resident(*cache), 4 * kBlockBytes);
  EXPECT_LE(resident(*cache), 4 * kBlockBytes + 6 * 2 * kMiB) << "at most two pages of 2 MiB a layer are begun";
  const SequenceId b = make_sequence(*cache, 200 * 16, 0);
  EXPECT_GE(resident(*cache), 204 * kBlockBytes);
  EXPECT_EQ(cache->stats().arena_bytes, kBlocks * kBlockBytes);

  // A shorter one takes blocks that were used before.
  ASSERT_TRUE(cache->drop_sequence(b));
  const std::uint64_t before = resident(*cache);
  const SequenceId c = make_sequence(*cache, 100 * 16, 5);
  EXPECT_EQ(cache->stats().resident_bytes, 204 * kBlockBytes);
  EXPECT_LE(resident(*cache), before);

  ASSERT_TRUE(cache->drop_sequence(c));
  cache->release_memory(false);
  EXPECT_EQ(cache->stats().resident_bytes, 4 * kBlockBytes);
  EXPECT_LE(resident(*cache), 4 * kBlockBytes + 3 * 4096) << "what the sequence holds, to the page";
  for (int position = 0; position < 64; ++position)
    EXPECT_EQ(read_number(*cache, a, 2, position), static_cast<float>(position));
  ASSERT_TRUE(cache->drop_sequence(a));
  cache->release_memory(false);
  EXPECT_EQ(resident(*cache), 0U);
  EXPECT_EQ(cache->stats().resident_bytes, 0U);
  expect_intact(*cache);
}

TEST(PagedKvRelease, CachedPrefixesStayUntilTheyAreGivenUp) {
  for (const bool windowed : {false, true}) {
    const auto cache = make_cache(large(windowed));
    const std::vector<TokenId> tokens = text(40 * 16, 100);
    const SequenceId id = cache->create_sequence();
    for (int end = 16; end <= 40 * 16; end += 16) {  // published as an engine does it, before the window passes
      ASSERT_TRUE(cache->reserve(id, end - 16, end));
      for (int layer = 0; layer < 3; ++layer)
        for (int position = end - 16; position < end; ++position)
          ASSERT_TRUE(write_number(*cache, id, layer, position, static_cast<float>(position)));
      ASSERT_TRUE(cache->publish(id, std::span(tokens).first(static_cast<std::size_t>(end)), ""));
      cache->commit(id, end);
    }
    const SequenceId other = make_sequence(*cache, 100 * 16, 0);
    ASSERT_TRUE(cache->drop_sequence(id));
    ASSERT_TRUE(cache->drop_sequence(other));
    const int num_cached = cache->stats().blocks_cached;
    ASSERT_GE(num_cached, 40);
    cache->release_memory(false);
    EXPECT_EQ(cache->stats().blocks_cached, num_cached);
    EXPECT_LT(resident(*cache), 60 * kBlockBytes);
    const SequenceId again = cache->create_sequence();
    ASSERT_EQ(cache->attach_prefix(again, tokens, ""), 39 * 16);
    for (int position = 38 * 16; position < 39 * 16; ++position)
      EXPECT_EQ(read_number(*cache, again, 0, position), static_cast<float>(position));

    // Blocks that somebody holds stay findable, whatever is given up around them.
    cache->release_memory(true);
    EXPECT_EQ(read_number(*cache, again, 1, 5), 5.0F);
    expect_intact(*cache);
    ASSERT_TRUE(cache->drop_sequence(again));
    const std::uint64_t evictions = cache->stats().evictions;
    cache->release_memory(true);
    EXPECT_EQ(resident(*cache), 0U);
    EXPECT_EQ(cache->stats().blocks_cached, 0);
    EXPECT_GT(cache->stats().evictions, evictions);
    EXPECT_EQ(cache->attach_prefix(cache->create_sequence(), tokens, ""), 0);
    expect_intact(*cache);
  }
}

TEST(PagedKvRelease, SmallHolesBetweenBlocksInUseAreLeftAlone) {
  const auto cache = make_cache(large());
  std::vector<SequenceId> sequences;
  for (int i = 0; i < 64; ++i) sequences.push_back(make_sequence(*cache, 16, 0));
  for (std::size_t i = 0; i < sequences.size(); i += 2) ASSERT_TRUE(cache->drop_sequence(sequences[i]));
  cache->release_memory(false);
  // Holes of 64 KiB; behind the last block there is a large one without memory.
  EXPECT_EQ(cache->stats().resident_bytes, 64 * kBlockBytes);
  // They are the first to be used again, lowest first, before blocks that have no memory.
  const SequenceId id = make_sequence(*cache, 16, 0);
  EXPECT_EQ(cache->table(id, 0).block_ids()[0], 0);
  EXPECT_EQ(cache->stats().resident_bytes, 64 * kBlockBytes);
  expect_intact(*cache);
}

TEST(PagedKvRelease, BlocksGivenBackCanBeUsedAgain) {
  const auto cache = make_cache(large());
  for (int round = 0; round < 3; ++round) {
    const auto x = static_cast<float>(1000 * round);
    const SequenceId id = make_sequence(*cache, 64 * 16, x);
    EXPECT_EQ(cache->table(id, 0).num_runs(), 1) << "from the lowest id on, as in a fresh pool";
    EXPECT_EQ(cache->table(id, 0).block_ids()[0], 0);
    const SequenceId child = *cache->fork(id);
    ASSERT_TRUE(write_number(*cache, child, 1, 7, -5));
    for (int position = 0; position < 64 * 16; position += 37)
      EXPECT_EQ(read_number(*cache, id, 1, position), x + static_cast<float>(position));
    ASSERT_TRUE(cache->drop_sequence(id));
    ASSERT_TRUE(cache->drop_sequence(child));
    cache->release_memory(round % 2 == 0);
    EXPECT_EQ(resident(*cache), 0U);
  }
}

TEST(PagedKvRelease, TheContiguousLayoutGivesItsMemoryBackWhenNobodyHoldsIt) {
  PagedKvOptions options = large();
  options.layout = KvLayout::kContiguous;
  const auto cache = make_cache(options);
  EXPECT_EQ(cache->stats().resident_bytes, 0U);
  const SequenceId id = make_sequence(*cache, 64 * 16, 3);
  EXPECT_EQ(cache->stats().resident_bytes, 64 * kBlockBytes);
  cache->release_memory(true);
  EXPECT_EQ(cache->stats().resident_bytes, 64 * kBlockBytes);
  EXPECT_EQ(read_number(*cache, id, 2, 1000), 1003.0F);
  ASSERT_TRUE(cache->drop_sequence(id));
  cache->release_memory(false);
  EXPECT_EQ(cache->stats().resident_bytes, 0U);
  const SequenceId next = make_sequence(*cache, 32, 9);
  EXPECT_EQ(read_number(*cache, next, 0, 31), 40.0F);
  expect_intact(*cache);
}

}  // namespace
}  // namespace octavo
