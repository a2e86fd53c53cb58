// P16 and P17: what sequences share, by forks and by contents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "kv_library/kv_values.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

PagedKvOptions shape(std::vector<int> layer_windows, int num_blocks = 16) {
  return {.type = KvType::kF32,
          .block_size = 4,
          .num_kv_heads = 1,
          .head_dim = 2,
          .layer_windows = std::move(layer_windows),
          .num_blocks = num_blocks};
}

std::vector<TokenId> text(int length, TokenId first = 1) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(length));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// A sequence of `length` tokens, written in steps and published, that is given back at once.
void leave_in_cache(PagedKvCache& cache, const RowSource& rows, std::string_view domain = "") {
  const SequenceId id = cache.create_sequence();
  ASSERT_TRUE(step_to(cache, id, static_cast<std::int64_t>(rows.size()), 0));
  ASSERT_TRUE(cache.publish(id, rows, domain));
  ASSERT_TRUE(cache.drop_sequence(id));
}

int attached(PagedKvCache& cache, const RowSource& rows, std::string_view domain = "") {
  const SequenceId id = cache.create_sequence();
  const Result<int> length = cache.attach_prefix(id, rows, domain);
  EXPECT_TRUE(length);
  EXPECT_TRUE(cache.drop_sequence(id));
  return length ? *length : -1;
}

TEST(PagedKvCache, P16_a_fork_shares_every_block_and_a_write_copies_that_block_only) {
  const auto cache = make_cache(shape({0, 0}));
  const SequenceId a = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, a, 10, 100));
  const SequenceId b = *cache->fork(a);
  EXPECT_EQ(cache->pool(0).free_count(), 13);
  EXPECT_EQ(cache->sequence_length(b), 10);
  EXPECT_EQ(cache->blocks_needed(b, 0, 5, 6), 1);
  ASSERT_TRUE(write_number(*cache, b, 1, 5, 7));
  EXPECT_THAT(cache->table(a, 0).block_ids(), ElementsAre(0, 1, 2));
  EXPECT_THAT(cache->table(b, 0).block_ids(), ElementsAre(0, 3, 2));
  EXPECT_EQ(cache->stats().copies, 1U);
  for (int layer = 0; layer < 2; ++layer)
    for (int position = 0; position < 10; ++position) {
      EXPECT_EQ(read_number(*cache, a, layer, position), 100 + static_cast<float>(position));
      const bool own = layer == 1 && position == 5;
      EXPECT_EQ(read_number(*cache, b, layer, position), own ? 7 : 100 + static_cast<float>(position));
    }
  ASSERT_TRUE(write_number(*cache, b, 0, 6, 8));  // it has that block for itself now
  EXPECT_EQ(cache->stats().copies, 1U);
  ASSERT_TRUE(write_number(*cache, a, 0, 9, 9));  // the parent's write copies too
  EXPECT_EQ(read_number(*cache, b, 0, 9), 109);
  EXPECT_EQ(cache->stats().copies, 2U);
  expect_intact(*cache);
  EXPECT_EQ(error_of(cache->fork(99)), "sequence 99 not found");
  EXPECT_THAT(error_of(cache->fork_into(a, b)), StartsWith("position 0 of sequence " + std::to_string(b)));
  EXPECT_EQ(error_of(cache->fork_into(a, 99)), "sequence 99 not found");
}

TEST(PagedKvCache, P16_reserve_names_the_copies_that_the_caller_makes) {
  const auto cache = make_cache(shape({0, 8}));
  const SequenceId a = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, a, 6, 100));
  const SequenceId b = *cache->fork(a);
  std::vector<BlockCopy> copies = {{.group = 7, .from = 7, .to = 7}};  // appended to
  ASSERT_TRUE(cache->reserve(b, 6, 9, &copies));
  ASSERT_EQ(copies.size(), 3U);
  for (int g = 0; g < 2; ++g) {
    const BlockCopy& copy = copies[static_cast<std::size_t>(g) + 1];
    EXPECT_EQ(copy.group, g);
    EXPECT_EQ(copy.from, cache->table(a, g).block_ids()[1]);
    EXPECT_EQ(copy.to, cache->table(b, g).block_ids()[1]);
    EXPECT_EQ(cache->blocks_needed(b, g, 6, 9), 0);
  }
  cache->make_copies(std::span(copies).subspan(1));
  EXPECT_EQ(read_number(*cache, b, 0, 5), 105);
  EXPECT_EQ(read_number(*cache, b, 1, 5), 105);
  expect_intact(*cache);
}

TEST(PagedKvCache, P16_a_published_block_is_copied_or_unpublished_before_a_write) {
  const auto cache = make_cache(shape({0, 0}));
  const std::vector<TokenId> tokens = text(12);
  const SequenceId a = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, a, 12, 100));
  ASSERT_TRUE(cache->publish(a, tokens, ""));
  const SequenceId b = cache->create_sequence();
  ASSERT_EQ(cache->attach_prefix(b, tokens, ""), 8);
  ASSERT_TRUE(write_number(*cache, b, 0, 4, 7));  // shared: copied, and still found
  EXPECT_EQ(read_number(*cache, a, 0, 4), 104);
  EXPECT_EQ(cache->stats().copies, 1U);
  EXPECT_EQ(attached(*cache, text(13)), 12);
  ASSERT_TRUE(write_number(*cache, a, 0, 5, 9));  // one owner: unpublished with all that follows it
  EXPECT_EQ(cache->stats().copies, 1U);
  EXPECT_EQ(attached(*cache, text(13)), 4);
  ASSERT_TRUE(cache->publish(a, tokens, ""));
  expect_intact(*cache);
}

TEST(PagedKvCache, P16_a_million_forks_and_drops_leak_nothing) {
  const auto cache = make_cache(shape({0, 6}));
  const SequenceId root = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, root, 11, 0));
  ASSERT_TRUE(cache->publish(root, text(11), ""));
  const int free_before = cache->pool(0).free_count();
  std::vector<SequenceId> alive = {root};
  for (int i = 0; i < 1'000'000; ++i) {
    const auto at = static_cast<std::size_t>(i * 7919LL % static_cast<std::int64_t>(alive.size()));
    const Result<SequenceId> child = cache->fork(alive[at]);
    ASSERT_TRUE(child);
    ASSERT_TRUE(i % 5 != 0 || write_number(*cache, *child, 0, 9, 1).has_value());
    if (i % 3 != 0 && alive.size() < 6) {
      alive.push_back(*child);
    } else {
      ASSERT_TRUE(cache->drop_sequence(*child));
    }
    if (alive.size() == 6) {
      ASSERT_TRUE(cache->drop_sequence(alive[3]));
      alive.erase(alive.begin() + 3);
    }
  }
  expect_intact(*cache);
  for (const SequenceId id : alive) {
    ASSERT_TRUE(id == root || cache->drop_sequence(id).has_value());
  }
  EXPECT_EQ(cache->pool(0).free_count(), free_before);
  EXPECT_EQ(read_number(*cache, root, 0, 9), 9);
  ASSERT_TRUE(cache->drop_sequence(root));
  EXPECT_EQ(cache->utilization(), 0);
  EXPECT_EQ(cache->stats().tokens, 0);
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_a_match_covers_full_blocks_and_leaves_a_token_to_compute) {
  const auto cache = make_cache(shape({0}));
  leave_in_cache(*cache, text(14));
  EXPECT_EQ(attached(*cache, text(100)), 12);
  EXPECT_EQ(attached(*cache, text(13)), 12);
  EXPECT_EQ(attached(*cache, text(12)), 8);
  EXPECT_EQ(attached(*cache, text(5)), 4);
  EXPECT_EQ(attached(*cache, text(4)), 0);
  EXPECT_EQ(attached(*cache, text(1)), 0);
  EXPECT_EQ(attached(*cache, {}), 0);
  std::vector<TokenId> other = text(14);
  other[6] = 99;
  EXPECT_EQ(attached(*cache, other), 4);
  EXPECT_EQ(attached(*cache, text(14, 2)), 0);

  const SequenceId id = cache->create_sequence();
  ASSERT_EQ(cache->attach_prefix(id, text(14), ""), 12);
  for (int position = 0; position < 12; ++position)
    EXPECT_EQ(read_number(*cache, id, 0, position), static_cast<float>(position));
  EXPECT_EQ(cache->sequence_length(id), 12);
  EXPECT_EQ(cache->stats().blocks_referenced, 3);
  EXPECT_THAT(error_of(cache->attach_prefix(id, text(14), "")),
              StartsWith("position 0 of sequence " + std::to_string(id)));
  EXPECT_EQ(error_of(cache->attach_prefix(99, text(14), "")), "sequence 99 not found");
  ASSERT_TRUE(step_to(*cache, id, 14, 0));
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_a_block_is_found_while_its_sequence_is_still_at_work) {
  const auto cache = make_cache(shape({0, 0}));
  const SequenceId a = cache->create_sequence();
  const std::vector<TokenId> tokens = text(12);
  for (int end = 1; end <= 12; ++end) {
    ASSERT_TRUE(step_to(*cache, a, end, 0));
    ASSERT_TRUE(cache->publish(a, std::span(tokens).first(static_cast<std::size_t>(end)), ""));
    EXPECT_EQ(attached(*cache, text(20)), end / 4 * 4);
  }
  EXPECT_EQ(error_of(cache->publish(a, text(11), "")), "wrong length: found 11 elements, expected 12");
  EXPECT_EQ(error_of(cache->publish(99, tokens, "")), "sequence 99 not found");
}

// Made-up pictures of six rows behind three tokens, in blocks of four.
TEST(PagedKvCache, P17_equal_tokens_share_only_where_what_was_given_is_the_same) {
  const auto cache = make_cache(shape({0}));
  const std::vector<TokenId> tokens(17, 7);
  const auto picture = [](std::uint8_t name, std::int32_t first = 3, std::int32_t index = 0) {
    return std::vector<GivenRows>{{.first = first, .count = 6, .index = index, .digest = {{name}}}};
  };
  leave_in_cache(*cache, RowSource(tokens, picture(1)));
  EXPECT_EQ(attached(*cache, RowSource(tokens, picture(1))), 16);
  EXPECT_EQ(attached(*cache, RowSource(tokens, picture(2))), 0) << "another digest";
  EXPECT_EQ(attached(*cache, RowSource(tokens, picture(1, 3, 1))), 0) << "other places of it";
  EXPECT_EQ(attached(*cache, RowSource(tokens, picture(1, 2))), 0) << "one row earlier";
  EXPECT_EQ(attached(*cache, tokens), 0) << "the tokens alone";
  std::vector<GivenRows> more = picture(1);
  more.push_back({.first = 13, .count = 2, .digest = {{2}}});
  EXPECT_EQ(attached(*cache, RowSource(tokens, more)), 12) << "the same up to another picture";
  leave_in_cache(*cache, tokens);
  EXPECT_EQ(attached(*cache, tokens), 16);
  EXPECT_EQ(attached(*cache, RowSource(tokens, picture(1))), 16) << "both are kept";
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_a_block_with_a_gap_in_any_layer_is_not_published) {
  const auto cache = make_cache(shape({0, 0}));
  const SequenceId id = cache->create_sequence();
  for (int position = 0; position < 8; ++position) {
    ASSERT_TRUE(write_number(*cache, id, 0, position, 1));
    ASSERT_TRUE(position == 2 || write_number(*cache, id, 1, position, 1).has_value());
  }
  ASSERT_TRUE(cache->publish(id, text(8), ""));
  EXPECT_EQ(attached(*cache, text(9)), 0);
  ASSERT_TRUE(write_number(*cache, id, 1, 2, 1));
  ASSERT_TRUE(cache->publish(id, text(8), ""));
  EXPECT_EQ(attached(*cache, text(9)), 8);
}

TEST(PagedKvCache, P17_domains_do_not_see_each_other) {
  const auto cache = make_cache(shape({0}));
  leave_in_cache(*cache, text(9), "alice");
  EXPECT_EQ(attached(*cache, text(9), "bob"), 0);
  EXPECT_EQ(attached(*cache, text(9), ""), 0);
  EXPECT_EQ(attached(*cache, text(9), "alice"), 8);
  leave_in_cache(*cache, text(9), "bob");
  EXPECT_EQ(attached(*cache, text(9), "bob"), 8);
  EXPECT_EQ(cache->stats().blocks_cached, 4);  // of each its own
  // A sequence cannot carry a block from one domain into another.
  const SequenceId id = cache->create_sequence();
  ASSERT_EQ(cache->attach_prefix(id, text(9), "alice"), 8);
  ASSERT_TRUE(cache->publish(id, text(9), "carol"));
  EXPECT_EQ(attached(*cache, text(9), "carol"), 0);
  EXPECT_EQ(attached(*cache, text(9), "alice"), 8);
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_blocks_with_equal_contents_become_one) {
  const auto cache = make_cache(shape({0, 6}));
  const SequenceId a = cache->create_sequence(), b = cache->create_sequence();
  for (const SequenceId id : {a, b}) ASSERT_TRUE(step_to(*cache, id, 9, 0));
  EXPECT_EQ(cache->pool(0).free_count(), 10);
  for (const SequenceId id : {a, b}) ASSERT_TRUE(cache->publish(id, text(9), ""));
  EXPECT_EQ(cache->pool(0).free_count(), 12);
  for (int g = 0; g < 2; ++g)
    for (const std::size_t i : {0U, 1U})
      EXPECT_EQ(cache->table(a, g).block_ids()[i], cache->table(b, g).block_ids()[i]);
  ASSERT_TRUE(cache->drop_sequence(a));
  EXPECT_EQ(read_number(*cache, b, 0, 3), 3);
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_a_cached_parent_outlives_its_cached_children) {
  const auto cache = make_cache(shape({0}, 4));
  leave_in_cache(*cache, text(12));  // three blocks, cached
  for (int taken = 1; taken <= 4; ++taken) {
    const SequenceId id = cache->create_sequence();
    ASSERT_TRUE(cache->ensure_capacity(id, 4));
    // The one block that is not cached goes first, then the chain from its end.
    EXPECT_EQ(attached(*cache, text(13)), taken == 1 ? 12 : (4 - taken) * 4);
    expect_intact(*cache);
  }
  EXPECT_EQ(cache->stats().evictions, 3U);
}

TEST(PagedKvCache, P17_the_least_recently_used_prefix_is_evicted_first) {
  const auto cache = make_cache(shape({0}, 6));
  leave_in_cache(*cache, text(8, 100));
  leave_in_cache(*cache, text(8, 200));
  leave_in_cache(*cache, text(8, 300));
  EXPECT_EQ(attached(*cache, text(9, 100)), 8);  // used again
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(cache->ensure_capacity(id, 12));
  EXPECT_EQ(attached(*cache, text(9, 200)), 0);
  EXPECT_EQ(attached(*cache, text(9, 300)), 4);
  EXPECT_EQ(attached(*cache, text(9, 100)), 8);
}

TEST(PagedKvCache, P17_a_windowed_group_needs_only_the_blocks_of_its_last_window) {
  const auto cache = make_cache(shape({0, 6}));
  const SequenceId a = cache->create_sequence();
  const std::vector<TokenId> tokens = text(24);
  for (int end = 4; end <= 24; end += 4) {  // published as it goes, while its first blocks leave the window
    ASSERT_TRUE(step_to(*cache, a, end, 0));
    ASSERT_TRUE(cache->publish(a, std::span(tokens).first(static_cast<std::size_t>(end)), ""));
  }
  EXPECT_EQ(cache->table(a, 1).first_held(), 4);
  // Nearly all of the windowed pool is taken away, so that the blocks that left the window are evicted.
  const SequenceId hog = cache->create_sequence();
  ASSERT_TRUE(cache->write_kv(hog, 1, 55, std::vector<float>(2), std::vector<float>(2)));
  ASSERT_EQ(cache->pool(1).free_count(), 0);
  const SequenceId b = cache->create_sequence();
  ASSERT_EQ(cache->attach_prefix(b, text(25), ""), 24);
  EXPECT_THAT(cache->table(b, 1).block_ids().first(4), ::testing::Each(kNoBlock));
  EXPECT_EQ(cache->table(b, 1).first_held(), 4);  // 24 sees 19 to 24
  EXPECT_EQ(read_number(*cache, b, 1, 19), 19);
  EXPECT_EQ(read_number(*cache, b, 0, 2), 2);
  EXPECT_THAT(error_of(cache->read_kv(b, 1, 15)), HasSubstr("holds nothing or is out of range"));
  EXPECT_EQ(cache->sequence_length(b, 1), 24);
  // A shorter match would need windowed blocks that are gone.
  EXPECT_EQ(attached(*cache, text(24)), 0);
  ASSERT_TRUE(cache->drop_sequence(hog));
  ASSERT_TRUE(step_to(*cache, b, 25, 0));
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_windowed_blocks_go_with_the_global_blocks_of_their_tokens) {
  PagedKvOptions options = shape({0, 6});
  const auto cache = make_cache(options);
  leave_in_cache(*cache, text(8));
  const SequenceId hog = cache->create_sequence();
  ASSERT_TRUE(cache->write_kv(hog, 0, 63, std::vector<float>(2), std::vector<float>(2)));  // all global blocks
  EXPECT_EQ(cache->stats().blocks_cached, 0);
  EXPECT_EQ(cache->pool(1).stats().free, 16);
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_equal_hashes_with_unequal_tokens_never_match) {
  // Hashers that see next to nothing: whatever collides is not shared, and what is shared is right.
  const std::vector<BlockHasher> hashers = {
      [](const BlockHash&, std::span<const std::byte>) { return BlockHash{3, 3}; },
      [](const BlockHash& parent, std::span<const std::byte> bytes) {
        return BlockHash{0,
                         (parent.high + std::to_integer<std::uint64_t>(bytes.empty() ? std::byte{0} : bytes[0])) % 3};
      }};
  for (const BlockHasher& hasher : hashers) {
    for (const std::vector<int>& windows : {std::vector<int>{0}, std::vector<int>{5, 0}}) {
      PagedKvOptions options = shape(windows, 12);
      options.hasher = hasher;
      const auto cache = make_cache(options);
      std::uint32_t random = 1;
      int hits = 0;
      for (int round = 0; round < 2000; ++round) {
        std::vector<TokenId> tokens;
        for (int i = 0; i < 17; ++i) {
          if (i % 4 == 0) random = random * 1664525 + 1013904223;
          tokens.push_back(static_cast<TokenId>(random >> 30));  // four kinds of blocks
        }
        // The value at a position tells all tokens up to it.
        const auto number = [&](std::int64_t position) {
          float x = 1;
          for (std::int64_t i = 0; i <= position; i += 4)
            x = x * 4 + static_cast<float>(tokens[static_cast<std::size_t>(i)]);
          return x;
        };
        const SequenceId id = cache->create_sequence();
        const Result<int> found = cache->attach_prefix(id, tokens, "");
        ASSERT_TRUE(found);
        hits += *found;
        for (int layer = 0; layer < cache->num_layers(); ++layer) {
          const int window = cache->group(cache->group_of_layer(layer)).window;
          for (std::int64_t p = window == 0 ? 0 : std::max(0, *found - window + 1); p < *found; ++p)
            ASSERT_EQ(read_number(*cache, id, layer, p), number(p)) << "round " << round;
        }
        for (std::int64_t end = *found + 4; end <= 16; end += 4) {  // published before it leaves the window
          ASSERT_TRUE(cache->reserve(id, end - 4, end));
          for (int layer = 0; layer < cache->num_layers(); ++layer)
            for (std::int64_t p = end - 4; p < end; ++p) ASSERT_TRUE(write_number(*cache, id, layer, p, number(p)));
          cache->commit(id, end);
          ASSERT_TRUE(cache->publish(id, tokens, ""));
        }
        expect_intact(*cache);
        ASSERT_TRUE(cache->drop_sequence(id));
      }
      EXPECT_GT(hits, 0);
    }
  }
}

TEST(PagedKvCache, P17_without_a_prefix_cache_nothing_is_shared_by_content) {
  PagedKvOptions options = shape({0});
  options.prefix_cache = false;
  const auto cache = make_cache(options);
  leave_in_cache(*cache, text(9));
  EXPECT_EQ(attached(*cache, text(9)), 0);
  EXPECT_EQ(cache->stats().blocks_cached, 0);
  EXPECT_EQ(cache->stats().misses, 0U);
  expect_intact(*cache);
}

}  // namespace
}  // namespace octavo
