#include "octavo/kv/paged_kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kv_library/kv_values.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PagedKvCache, P1_blocks_have_16_tokens_or_any_power_of_two_up_to_256) {
  EXPECT_EQ(PagedKvOptions{}.block_size, 16);
  EXPECT_EQ(kDefaultBlockSize, 16);
  for (int size = -1; size <= 520; ++size) {
    PagedKvOptions options = small(2);
    options.block_size = size;
    const auto cache = PagedKvCache::create(options);
    const bool allowed = size >= 1 && size <= 256 && (size & (size - 1)) == 0;
    ASSERT_EQ(cache.has_value(), allowed) << size;
    if (!cache) {
      EXPECT_EQ(cache.error().message,
                "block_size is " + std::to_string(size) + ", expected a power of two from 1 to 256");
      continue;
    }
    const SequenceId id = (*cache)->create_sequence();
    ASSERT_TRUE(step_to(**cache, id, 2 * size, 1));
    EXPECT_EQ((*cache)->pool(0).free_count(), 0);
    EXPECT_EQ(read_number(**cache, id, 1, 2 * size - 1), static_cast<float>(2 * size));
    expect_intact(**cache);
  }
}

TEST(PagedKvCache, OptionsThatMakeNoSenseAreRefused) {
  const auto message = [](auto change) {
    PagedKvOptions options = small();
    change(options);
    const auto cache = PagedKvCache::create(options);
    return cache ? std::string("none") : cache.error().message;
  };
  EXPECT_THAT(message([](auto& o) { o.type = static_cast<KvType>(5); }), HasSubstr("KV type: found number 5"));
  EXPECT_THAT(message([](auto& o) { o.layout = static_cast<KvLayout>(2); }), HasSubstr("layout is number 2, expected"));
  EXPECT_THAT(message([](auto& o) { o.num_kv_heads = 0; }), HasSubstr("num_kv_heads is 0, expected 1 to"));
  EXPECT_THAT(message([](auto& o) { o.head_dim = 577; }), HasSubstr("head_dim is 577, expected 1 to 576"));
  EXPECT_THAT(message([](auto& o) { o.layer_windows = {}; }), HasSubstr("layer_windows has 0 layers"));
  EXPECT_THAT(message([](auto& o) { o.layer_windows = {0, -1}; }), HasSubstr("window of layer 1 is -1"));
  EXPECT_THAT(message([](auto& o) { o.num_blocks = -1; }), HasSubstr("num_blocks is -1"));
  EXPECT_THAT(message([](auto& o) { o.num_blocks = 0; }), HasSubstr("a KV memory of 0 bytes holds no block"));
  EXPECT_THAT(message([](auto& o) { o.max_tokens = -1; }), HasSubstr("max_tokens is -1"));
  EXPECT_THAT(message([](auto& o) { o.longest_sequence = -1; }), HasSubstr("longest_sequence is -1"));
  EXPECT_THAT(message([](auto& o) {
                o.layer_windows.assign(60'000, 0);
                o.num_kv_heads = 60'000;
                o.head_dim = 512;
                o.num_blocks = 2'000'000'000;
              }),
              HasSubstr("more than an address counts"));
}

TEST(PagedKvCache, P5_one_block_id_serves_all_layers_of_a_group) {
  for (const int layers : {1, 2, 30}) {
    PagedKvOptions options = small();
    options.layer_windows.assign(static_cast<std::size_t>(layers), 0);
    const auto cache = make_cache(options);
    const SequenceId id = cache->create_sequence();
    for (int layer = 0; layer < layers; ++layer)
      for (int position = 0; position < 5; ++position)
        ASSERT_TRUE(write_number(*cache, id, layer, position, static_cast<float>(layer * 100 + position)));
    EXPECT_EQ(cache->pool(0).free_count(), 6);
    EXPECT_THAT(cache->table(id, 0).block_ids(), ElementsAre(0, 1));
    for (int layer = 0; layer < layers; ++layer)
      EXPECT_EQ(read_number(*cache, id, layer, 4), static_cast<float>(layer * 100 + 4));
    // 8 blocks of 4 tokens, keys and values of 2 heads of 3 dimensions of 4 bytes.
    EXPECT_EQ(cache->arena_bytes(), static_cast<std::uint64_t>(8 * 4 * 2 * 2 * 3 * 4 * layers));
    EXPECT_EQ(cache->stats().arena_bytes, cache->arena_bytes());
  }
}

TEST(PagedKvCache, P5_layers_of_equal_windows_form_a_group) {
  PagedKvOptions options = small();
  options.layer_windows = {6, 6, 0, 6, 0};
  const auto cache = make_cache(options);
  ASSERT_EQ(cache->num_groups(), 2);
  EXPECT_EQ(cache->group(0).window, 6);
  EXPECT_THAT(cache->group(0).layers, ElementsAre(0, 1, 3));
  EXPECT_THAT(cache->group(1).layers, ElementsAre(2, 4));
  EXPECT_EQ(cache->group_of_layer(3), 0);
  EXPECT_EQ(cache->group_of_layer(4), 1);
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, id, 5, 0));
  EXPECT_EQ(cache->pool(0).free_count(), 6);
  EXPECT_EQ(cache->pool(1).free_count(), 6);
}

TEST(PagedKvCache, P5_the_arena_stays_within_its_budget) {
  PagedKvOptions options = small(0);
  options.layer_windows = {6, 6, 0, 6, 0};
  for (std::uint64_t budget = 1; budget < 50'000; budget = budget * 5 / 4 + 1) {
    options.memory_bytes = budget;
    const auto cache = PagedKvCache::create(options);
    constexpr std::uint64_t kBlock = 5 * 4 * 2 * 2 * 3 * 4;  // of both groups
    ASSERT_EQ(cache.has_value(), budget >= kBlock);
    if (!cache) continue;
    EXPECT_LE((*cache)->arena_bytes(), budget);
    EXPECT_GT((*cache)->arena_bytes() + kBlock, budget);
    const auto a = static_cast<std::uint64_t>((*cache)->group(0).num_blocks),
               b = static_cast<std::uint64_t>((*cache)->group(1).num_blocks);
    EXPECT_EQ((*cache)->arena_bytes(), (3 * a + 2 * b) * 4 * 2 * 2 * 3 * 4);
  }
}

TEST(PagedKvCache, P7_ids_count_from_zero_and_are_never_reused) {
  const auto cache = make_cache(small());
  EXPECT_EQ(cache->create_sequence(), 0U);
  EXPECT_EQ(cache->create_sequence(), 1U);
  ASSERT_TRUE(step_to(*cache, 0, 9, 0));
  ASSERT_TRUE(step_to(*cache, 1, 2, 0));
  EXPECT_TRUE(cache->drop_sequence(0));
  EXPECT_EQ(cache->pool(0).free_count(), 7);
  EXPECT_EQ(error_of(cache->drop_sequence(0)), "sequence 0 not found");
  EXPECT_EQ(error_of(cache->drop_sequence(77)), "sequence 77 not found");
  EXPECT_EQ(cache->create_sequence(), 2U);
  EXPECT_EQ(*cache->fork(1), 3U);
  expect_intact(*cache);
}

TEST(PagedKvCache, P8_ensure_capacity_is_idempotent_and_never_shrinks) {
  const auto cache = make_cache(small());
  const SequenceId id = cache->create_sequence();
  for (const std::int64_t tokens : {20, 20, 1, 0}) {
    ASSERT_TRUE(cache->ensure_capacity(id, tokens));
    EXPECT_EQ(cache->token_capacity(id), 20);
    EXPECT_EQ(cache->pool(0).free_count(), 3);
  }
  EXPECT_EQ(cache->sequence_length(id), 0);
  EXPECT_EQ(error_of(cache->ensure_capacity(id, 33)), "out of KV memory: attention group 0 needs 4 blocks, 3 are free");
  EXPECT_TRUE(is_out_of_blocks(cache->ensure_capacity(id, INT64_MAX)));
  EXPECT_THAT(error_of(cache->ensure_capacity(id, -1)), StartsWith("position -1 of sequence"));
  EXPECT_EQ(error_of(cache->ensure_capacity(9, 1)), "sequence 9 not found");
  expect_intact(*cache);
}

TEST(PagedKvCache, P9_failed_allocation_takes_nothing) {
  PagedKvOptions options = small(4);
  options.layer_windows = {0, 6};
  const auto cache = make_cache(options);
  const SequenceId a = cache->create_sequence(), b = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, a, 5, 10));
  ASSERT_TRUE(cache->fork_into(a, b));
  ASSERT_TRUE(write_number(*cache, a, 1, 8, 50));  // the second group has one free block less: 1, the first has 2
  // b must copy its second block and take one or more.
  std::vector<BlockCopy> copies;
  for (const std::int64_t end : {9, 13, 1000}) {
    EXPECT_THAT(error_of(cache->reserve(b, 5, end, &copies)),
                HasSubstr(end == 9 ? "attention group 1 needs" : "attention group 0 needs"));
    EXPECT_TRUE(is_out_of_blocks(cache->reserve(b, 5, end)));
    EXPECT_TRUE(is_out_of_blocks(cache->ensure_capacity(b, end + 8)));
    EXPECT_TRUE(copies.empty());
    EXPECT_EQ(cache->pool(0).free_count(), 2);
    EXPECT_EQ(cache->pool(1).free_count(), 1);
    EXPECT_EQ(cache->token_capacity(b, 0), 8);
    EXPECT_EQ(cache->token_capacity(b, 1), 8);
    expect_intact(*cache);
  }
  const std::vector<float> nine(9 * 6);
  EXPECT_TRUE(is_out_of_blocks(cache->write_kv(b, 1, 4, nine, nine, 9)));
  for (int position = 0; position < 5; ++position) {
    EXPECT_EQ(read_number(*cache, b, 1, position), 10.0F + static_cast<float>(position));
    EXPECT_EQ(read_number(*cache, a, 0, position), 10.0F + static_cast<float>(position));
  }
  expect_intact(*cache);
}

TEST(PagedKvCache, P14_length_counts_what_is_written_in_every_layer) {
  PagedKvOptions options = small();
  options.layer_windows = {0, 0, 5};
  const auto cache = make_cache(options);
  const SequenceId id = cache->create_sequence();
  EXPECT_EQ(cache->sequence_length(id), 0);
  ASSERT_TRUE(write_number(*cache, id, 0, 0, 1));
  EXPECT_EQ(cache->sequence_length(id), 0);
  EXPECT_EQ(cache->layer_length(id, 0), 1);
  EXPECT_EQ(cache->layer_length(id, 1), 0);
  EXPECT_EQ(cache->token_capacity(id), 4);
  ASSERT_TRUE(write_number(*cache, id, 1, 0, 1));
  EXPECT_EQ(cache->sequence_length(id), 1);
  EXPECT_EQ(cache->sequence_length(id, 1), 0);  // the windowed group, in which nothing is written
  for (const int layer : {0, 1}) ASSERT_TRUE(write_number(*cache, id, layer, 2, 1));
  EXPECT_EQ(cache->sequence_length(id), 1);
  for (const int layer : {1, 0}) ASSERT_TRUE(write_number(*cache, id, layer, 1, 1));
  EXPECT_EQ(cache->sequence_length(id), 3);  // up to what was behind the gap
  for (std::int64_t position = 3; position < 9; ++position) ASSERT_TRUE(write_number(*cache, id, 1, position, 1));
  EXPECT_EQ(cache->sequence_length(id), 3);
  EXPECT_EQ(cache->layer_length(id, 0), 3);
  EXPECT_EQ(cache->layer_length(id, 1), 9);  // two blocks further
  EXPECT_EQ(cache->layer_length(id, 2), 0);
  const SequenceId child = *cache->fork(id);
  ASSERT_TRUE(cache->truncate(child, 6));
  EXPECT_EQ(cache->layer_length(child, 1), 6);  // in a block of which the other sequence sees more
  EXPECT_EQ(cache->layer_length(id, 1), 9);
  EXPECT_EQ(cache->layer_length(77, 0), 0);
  EXPECT_EQ(cache->layer_length(id, 3), 0);
  EXPECT_EQ(cache->layer_length(id, -1), 0);
  EXPECT_EQ(cache->sequence_length(77), 0);
  EXPECT_EQ(cache->token_capacity(77), 0);
  EXPECT_EQ(cache->sequence_length(id, 2), 0);
  EXPECT_EQ(cache->token_capacity(id, -1), 0);
  expect_intact(*cache);
}

TEST(PagedKvCache, P14_utilization_counts_referenced_blocks_and_free_ones_include_cached) {
  const auto cache = make_cache(small(4));
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, id, 8, 0));
  ASSERT_TRUE(cache->publish(id, std::vector<TokenId>(8, 1), ""));
  EXPECT_EQ(cache->utilization(), 0.5);
  const SequenceId fork = *cache->fork(id);
  EXPECT_EQ(cache->utilization(), 0.5);
  ASSERT_TRUE(cache->drop_sequence(id));
  EXPECT_EQ(cache->utilization(), 0.5);
  ASSERT_TRUE(cache->drop_sequence(fork));
  EXPECT_EQ(cache->utilization(), 0);
  EXPECT_EQ(cache->pool(0).free_count(), 4);
  EXPECT_EQ(cache->stats().blocks_cached, 2);
  EXPECT_EQ(cache->stats().blocks_free, 2);
}

TEST(PagedKvCache, P18_truncate_gives_back_tail_blocks) {
  const auto cache = make_cache(small());
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, id, 18, 0));
  ASSERT_TRUE(cache->truncate(id, 9));
  EXPECT_EQ(cache->token_capacity(id), 12);
  EXPECT_EQ(cache->sequence_length(id), 9);
  EXPECT_EQ(cache->pool(0).free_count(), 5);
  EXPECT_EQ(read_number(*cache, id, 1, 8), 8);
  EXPECT_THAT(error_of(cache->read_kv(id, 0, 9)), StartsWith("position 9 of sequence"));
  ASSERT_TRUE(cache->truncate(id, 100));
  EXPECT_EQ(cache->sequence_length(id), 9);
  for (const int layer : {0, 1}) ASSERT_TRUE(write_number(*cache, id, layer, 10, 7));
  EXPECT_EQ(cache->sequence_length(id), 9);  // 9 is still a gap
  ASSERT_TRUE(cache->truncate(id, 0));
  EXPECT_EQ(cache->pool(0).free_count(), 8);
  EXPECT_THAT(error_of(cache->truncate(id, -1)), StartsWith("position -1 of sequence"));
  EXPECT_EQ(error_of(cache->truncate(9, 0)), "sequence 9 not found");
  expect_intact(*cache);
}

TEST(PagedKvCache, P18_truncating_a_shared_block_needs_no_memory_and_hides_its_tail) {
  const auto cache = make_cache(small(2));
  const SequenceId a = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, a, 8, 0));
  const SequenceId b = *cache->fork(a);
  ASSERT_TRUE(cache->truncate(b, 6));
  const SequenceId c = *cache->fork(b);
  for (const SequenceId id : {b, c}) {
    EXPECT_EQ(cache->sequence_length(id), 6);
    EXPECT_EQ(read_number(*cache, id, 0, 5), 5);
    EXPECT_THAT(error_of(cache->read_kv(id, 0, 6)), HasSubstr("holds nothing or is out of range"));
    EXPECT_THAT(error_of(cache->reserve(id, 6, 7)), HasSubstr("needs 1 blocks, 0 are free"));  // no room for a copy
  }
  EXPECT_EQ(cache->sequence_length(a), 8);
  EXPECT_EQ(read_number(*cache, a, 1, 7), 7);
  ASSERT_TRUE(cache->drop_sequence(a));
  ASSERT_TRUE(cache->drop_sequence(b));
  ASSERT_TRUE(write_number(*cache, c, 0, 7, 70));  // c owns it now; 6 is not to be seen again
  EXPECT_THAT(error_of(cache->read_kv(c, 0, 6)), HasSubstr("holds nothing or is out of range"));
  EXPECT_THAT(error_of(cache->read_kv(c, 1, 7)), HasSubstr("holds nothing or is out of range"));
  EXPECT_EQ(read_number(*cache, c, 0, 7), 70);
  EXPECT_EQ(cache->sequence_length(c), 6);
  expect_intact(*cache);
}

TEST(PagedKvCache, P18_a_windowed_sequence_cannot_go_back_to_what_it_gave_back) {
  PagedKvOptions options = small();
  options.layer_windows = {6, 0};
  const auto cache = make_cache(options);
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, id, 20, 0));
  // Position 20 sees 15 to 20: the blocks of positions 0 to 11 are gone.
  EXPECT_EQ(cache->table(id, 0).first_held(), 3);
  EXPECT_EQ(cache->pool(0).free_count(), 6);
  EXPECT_EQ(cache->pool(1).free_count(), 3);
  EXPECT_THAT(error_of(cache->read_kv(id, 0, 11)), HasSubstr("holds nothing or is out of range"));
  EXPECT_EQ(read_number(*cache, id, 0, 12), 12);
  EXPECT_EQ(read_number(*cache, id, 1, 0), 0);
  EXPECT_EQ(cache->sequence_length(id, 0), 20);
  EXPECT_THAT(error_of(cache->truncate(id, 16)), StartsWith("position 11 of sequence"));
  EXPECT_EQ(cache->sequence_length(id, 1), 20);
  ASSERT_TRUE(cache->truncate(id, 17));  // sees 12 to 17
  EXPECT_EQ(cache->sequence_length(id, 0), 17);
  EXPECT_THAT(error_of(cache->reserve(id, 11, 18)), StartsWith("position 11 of sequence"));
  ASSERT_TRUE(cache->truncate(id, 0));
  EXPECT_EQ(cache->pool(0).free_count(), 8);
  ASSERT_TRUE(step_to(*cache, id, 3, 0));
  expect_intact(*cache);
}

TEST(PagedKvCache, P19_stats_count_blocks_tokens_and_bytes_and_say_so_in_a_line) {
  const auto cache = make_cache(small());
  const SequenceId a = cache->create_sequence();
  EXPECT_EQ(cache->stats().mean_run_blocks, 0);
  ASSERT_TRUE(step_to(*cache, a, 9, 0));
  EXPECT_EQ(cache->stats().mean_run_blocks, 3);  // a sequence that grows alone lies in one run
  const SequenceId b = *cache->fork(a);
  ASSERT_TRUE(write_number(*cache, b, 0, 1, 1));  // a copy: 3, 1, 2
  const std::vector<TokenId> tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSERT_TRUE(cache->publish(a, tokens, ""));
  const SequenceId c = cache->create_sequence();
  ASSERT_EQ(cache->attach_prefix(c, tokens, ""), 8);
  const SequenceId d = cache->create_sequence();
  ASSERT_EQ(cache->attach_prefix(d, tokens, "other"), 0);
  ASSERT_TRUE(cache->drop_sequence(a));
  ASSERT_TRUE(cache->drop_sequence(c));
  const KvStats stats = cache->stats();
  EXPECT_EQ(stats.blocks_total, 8);
  EXPECT_EQ(stats.blocks_referenced, 3);
  EXPECT_EQ(stats.blocks_cached, 1);
  EXPECT_EQ(stats.blocks_free, 4);
  EXPECT_EQ(stats.tokens, 9);
  EXPECT_EQ(stats.hits, 8U);
  EXPECT_EQ(stats.misses, 8U);
  EXPECT_EQ(stats.copies, 1U);
  EXPECT_EQ(stats.evictions, 0U);
  EXPECT_EQ(stats.arena_bytes, 8U * 2 * 4 * 2 * 2 * 3 * 4);
  EXPECT_EQ(stats.referenced_bytes, 3U * 2 * 4 * 2 * 2 * 3 * 4);
  EXPECT_EQ(stats.mean_run_blocks, 1.5);
  EXPECT_EQ(
      stats.summary(),
      "KV memory 1.5 KiB of 3.0 KiB: 8 blocks, 3 in use, 1 cached, 4 free; 9 tokens; prefix hits 50.0% of 16 tokens; 0 "
      "evictions, 1 copies; runs of 1.5 blocks");
  ASSERT_TRUE(step_to(*cache, d, 20, 0));
  EXPECT_EQ(cache->stats().evictions, 1U);
}

TEST(PagedKvCache, ContiguousLayoutIsOneSequenceInOneBlock) {
  PagedKvOptions options = small(0);
  options.layout = KvLayout::kContiguous;
  options.memory_bytes = 1 << 20;
  options.max_tokens = 100;
  const auto cache = make_cache(options);
  EXPECT_EQ(cache->block_size(), 100);
  EXPECT_EQ(cache->max_sequence_tokens(), 100);
  EXPECT_EQ(cache->arena_bytes(), 100U * 2 * 2 * 2 * 3 * 4);
  const SequenceId id = cache->create_sequence(100);
  ASSERT_TRUE(write_number(*cache, id, 0, 2, 77));
  for (const std::int64_t end : {1, 2, 3, 50, 100}) {
    ASSERT_TRUE(step_to(*cache, id, end, 0));
    EXPECT_EQ(cache->sequence_length(id), end);
    for (int position = 0; position < end; ++position)
      ASSERT_EQ(read_number(*cache, id, 1, position), static_cast<float>(position));
    expect_intact(*cache);
  }
  EXPECT_TRUE(is_out_of_blocks(cache->reserve(id, 100, 101)));
  EXPECT_TRUE(is_out_of_blocks(cache->reserve(cache->create_sequence(), 0, 1)));
  ASSERT_TRUE(cache->publish(id, std::vector<TokenId>(100, 1), ""));
  EXPECT_EQ(cache->stats().blocks_cached, 0);
  ASSERT_TRUE(cache->truncate(id, 10));
  EXPECT_EQ(cache->sequence_length(id), 10);
  options.type = KvType::kQ8_0;
  EXPECT_THAT(PagedKvCache::create(options).error().message, HasSubstr("i16, f16, bf16 or f32, found q8_0"));
}

TEST(PagedKvCacheDeathTest, CommittingWhatWasNotReservedIsABug) {
  const auto cache = make_cache(small());
  const SequenceId id = cache->create_sequence();
  EXPECT_DEATH(cache->commit(id, 1), "1 tokens in room for 0");
  ASSERT_TRUE(cache->reserve(id, 0, 4));
  const SequenceId fork = *cache->fork(id);
  EXPECT_DEATH(cache->commit(fork, 4), "position 0 of sequence 1 was not reserved");
}

}  // namespace
}  // namespace octavo
