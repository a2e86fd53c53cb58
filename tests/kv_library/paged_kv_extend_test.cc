// P17: a sequence that has begun goes on with what others have published meanwhile.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "kv_library/kv_values.h"

namespace octavo {
namespace {

PagedKvOptions shape(std::vector<int> layer_windows, bool prefix_cache = true) {
  return {.type = KvType::kF32,
          .block_size = 4,
          .num_kv_heads = 1,
          .head_dim = 2,
          .layer_windows = std::move(layer_windows),
          .num_blocks = 40,
          .prefix_cache = prefix_cache};
}

std::vector<TokenId> text(int length) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(length));
  std::iota(tokens.begin(), tokens.end(), 1);
  return tokens;
}

BlockChain chain_of(const PagedKvCache& cache, std::span<const TokenId> tokens, std::string_view domain = "") {
  BlockChain chain(cache.hasher(), domain);
  chain.extend(cache.hasher(), cache.block_size(), tokens);
  return chain;
}

/// Writes and publishes up to `end`.
void compute(PagedKvCache& cache, SequenceId id, int end, std::span<const TokenId> tokens) {
  ASSERT_TRUE(step_to(cache, id, end, 100));
  ASSERT_TRUE(cache.publish(id, tokens, chain_of(cache, tokens)));
}

TEST(PagedKvCache, P17_extends_behind_what_it_computed_itself) {
  const auto cache = make_cache(shape({0, 0}));
  const std::vector<TokenId> tokens = text(21);
  const BlockChain chain = chain_of(*cache, tokens);
  const SequenceId a = cache->create_sequence(), b = cache->create_sequence();
  compute(*cache, a, 8, tokens);
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain), 8);
  compute(*cache, b, 12, tokens);
  EXPECT_FALSE(cache->is_published(chain.hashes()[3]));
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain), 0);
  compute(*cache, a, 20, tokens);
  EXPECT_TRUE(cache->is_published(chain.hashes()[3]));
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain), 8);
  EXPECT_EQ(cache->sequence_length(b), 20);
  EXPECT_TRUE(std::ranges::equal(cache->table(b, 0).block_ids(), cache->table(a, 0).block_ids()))
      << "the third is b's, which a took over";
  for (int position = 0; position < 20; ++position)
    EXPECT_EQ(read_number(*cache, b, 1, position), 100 + static_cast<float>(position));
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_extends_by_nothing_within_a_block) {
  const auto cache = make_cache(shape({0}));
  const std::vector<TokenId> tokens = text(21);
  const SequenceId a = cache->create_sequence(), b = cache->create_sequence();
  compute(*cache, a, 20, tokens);
  ASSERT_TRUE(step_to(*cache, b, 6, 100));
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain_of(*cache, tokens)), 0);
  EXPECT_EQ(cache->sequence_length(b), 6);
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_extends_by_nothing_of_another_domain_or_other_tokens) {
  const auto cache = make_cache(shape({0}));
  std::vector<TokenId> tokens = text(21);
  const SequenceId a = cache->create_sequence(), b = cache->create_sequence();
  compute(*cache, a, 20, tokens);
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain_of(*cache, tokens, "other")), 0);
  tokens[2] = 99;
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain_of(*cache, tokens)), 0);
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain_of(*cache, text(21))), 0) << "a chain of other tokens";
  EXPECT_EQ(error_of(cache->extend_prefix(9, tokens, {})), "sequence 9 not found");
}

TEST(PagedKvCache, P17_extension_moves_a_window_on) {
  const auto cache = make_cache(shape({0, 6}));
  const std::vector<TokenId> tokens = text(33);
  const BlockChain chain = chain_of(*cache, tokens);
  const SequenceId a = cache->create_sequence(), b = cache->create_sequence();
  for (int end = 4; end <= 8; end += 4) compute(*cache, a, end, tokens);
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain), 8);
  EXPECT_EQ(cache->table(b, 1).first_held(), 0);
  for (int end = 12; end <= 32; end += 4) compute(*cache, a, end, tokens);
  EXPECT_EQ(*cache->extend_prefix(b, tokens, chain), 24);
  EXPECT_EQ(cache->table(b, 1).first_held(), 6) << "position 32 looks back to 27";
  EXPECT_EQ(cache->table(b, 1).num_blocks(), 8);
  EXPECT_EQ(cache->table(b, 0).first_held(), 0);
  EXPECT_EQ(read_number(*cache, b, 1, 27), 127);
  expect_intact(*cache);
  ASSERT_TRUE(step_to(*cache, b, 33, 100));
  expect_intact(*cache);
}

TEST(PagedKvCache, P17_without_a_prefix_cache_nothing_is_found) {
  const auto cache = make_cache(shape({0}, false));
  EXPECT_FALSE(cache->hasher());
  const SequenceId a = cache->create_sequence();
  EXPECT_EQ(*cache->extend_prefix(a, text(9), {}), 0);
  EXPECT_FALSE(cache->is_published({}));
}

// Two that say the same, in steps of any size, each looking for what the other has at any time: what they hold is what
// they would hold alone.
RC_GTEST_PROP(PagedKvCache, P17_extended_and_computed_positions_are_the_same, ()) {
  const int window = *rc::gen::inRange(1, 30), length = *rc::gen::inRange(2, 60);
  const auto windows = *rc::gen::element(std::vector{0}, std::vector{0, window}, std::vector{window, 0});
  const auto cache = make_cache(shape(windows));
  const std::vector<TokenId> tokens = text(length);
  const BlockChain chain = chain_of(*cache, tokens);
  const SequenceId ids[] = {cache->create_sequence(), cache->create_sequence()};
  for (int turn = 0; turn < 200; ++turn) {
    const SequenceId id = ids[*rc::gen::inRange(0, 2)];
    if (*rc::gen::arbitrary<bool>()) RC_ASSERT(cache->extend_prefix(id, tokens, chain).has_value());
    const int now = static_cast<int>(cache->sequence_length(id));
    const int end = std::min(length, now + *rc::gen::inRange(1, 9));
    if (end > now) {
      RC_ASSERT(step_to(*cache, id, end, 100).has_value());
      RC_ASSERT(cache->publish(id, tokens, chain).has_value());
    }
    RC_ASSERT(cache->check_integrity().has_value());
    for (std::size_t layer = 0; layer < windows.size(); ++layer) {
      const int seen = windows[layer] == 0 ? 0 : std::max(0, end - windows[layer] + 1);
      for (int position = seen; position < end; ++position)
        RC_ASSERT(read_number(*cache, id, static_cast<int>(layer), position) == 100 + static_cast<float>(position));
    }
    if (end == length && cache->sequence_length(ids[0]) == cache->sequence_length(ids[1])) break;
  }
}

}  // namespace
}  // namespace octavo
