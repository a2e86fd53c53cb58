// The growing contiguous cache: what is in it, what growing and appending touch, and what is refused.
#include "octavo/kv/contiguous_kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "kernels/kernels.h"
#include "kv/contiguous_cases.h"

namespace octavo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ContiguousKvCache, T6_G1_created_empty_with_capacity_64_of_at_most_2048) {
  const ContiguousKvCache cache =
      make({.batch = 1, .num_kv_heads = 8, .head_dim = 64, .initial_capacity = 64, .max_seq_len = 2048});
  EXPECT_TRUE(cache.is_empty());
  EXPECT_EQ(cache.seq_len(), 0);
  EXPECT_EQ(cache.length(0), 0);
  EXPECT_EQ(cache.capacity(), 64);
  EXPECT_EQ(cache.max_seq_len(), 2048);
  EXPECT_EQ(cache.batch_size(), 1);
  EXPECT_EQ(cache.num_kv_heads(), 8);
  EXPECT_EQ(cache.head_dim(), 64);
  EXPECT_EQ(cache.type(), KvType::kF32);
  EXPECT_EQ(cache.bytes(), 2ULL * 8 * 64 * 64 * 4);
}

TEST(ContiguousKvCache, T7_three_tokens_seen_through_views_of_the_right_shape) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append(cache, 3));
  const Result<ContiguousKvView> view = cache.get_kv();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->batch, 2);
  EXPECT_EQ(view->num_kv_heads, 2);
  EXPECT_EQ(view->seq_len, 3);
  EXPECT_EQ(view->head_dim, 4);
  EXPECT_EQ(view->row_stride, 2 * 4 * 4);
  EXPECT_EQ(view->head_stride, 4 * 4);
  EXPECT_EQ(view->position_stride, 4);
  EXPECT_THAT(view->lengths, ElementsAre(3, 3));
  expect_contents(cache);
}

TEST(ContiguousKvCache, T8_growth_from_capacity_4_to_hold_5) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append(cache, 3));
  ASSERT_TRUE(append(cache, 2));
  EXPECT_EQ(cache.capacity(), 8);
  EXPECT_EQ(cache.seq_len(), 5);
  expect_contents(cache);
}

TEST(ContiguousKvCache, T9_G3_overflow_names_three_numbers_and_changes_nothing) {
  ContiguousKvOptions options = kSmall;
  options.max_seq_len = 8;
  ContiguousKvCache cache = make(options);
  const Result<void> too_many = append(cache, 10);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().message, "cache overflow: 0 tokens and 10 new ones in a cache of at most 8");
  EXPECT_TRUE(cache.is_empty());
  EXPECT_EQ(cache.capacity(), 4);
  ASSERT_TRUE(append(cache, 6));
  for (const Result<void>& result : {append(cache, 3), append_fused(cache, 3), append_row(cache, 1, 3)}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "cache overflow: 6 tokens and 3 new ones in a cache of at most 8");
  }
  EXPECT_EQ(cache.seq_len(), 6);
  expect_contents(cache);
}

TEST(ContiguousKvCache, T10_G4_reset_empties_every_row_and_keeps_the_memory) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append(cache, 5));
  const std::byte* memory = cache.raw_keys().data();
  cache.reset();
  EXPECT_TRUE(cache.is_empty());
  EXPECT_EQ(cache.length(1), 0);
  EXPECT_EQ(cache.capacity(), 8);
  EXPECT_EQ(cache.raw_keys().data(), memory);
  ASSERT_TRUE(append(cache, 8));
  EXPECT_EQ(cache.raw_keys().data(), memory);
  expect_contents(cache);
}

TEST(ContiguousKvCache, T11_G4_reading_an_empty_cache_is_an_error) {
  ContiguousKvCache cache = make();
  ASSERT_FALSE(cache.get_kv());
  EXPECT_EQ(cache.get_kv().error().message, "cache is empty");
  ASSERT_TRUE(append_row(cache, 1, 1));
  EXPECT_TRUE(cache.get_kv());
  cache.reset();
  EXPECT_FALSE(cache.get_kv());
}

TEST(ContiguousKvCache, T12_G3_the_fused_update_gives_the_same_views) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kI16}) {
    ContiguousKvOptions options = kSmall;
    options.type = type;
    ContiguousKvCache plain = make(options), fused = make(options);
    for (const int tokens : {3, 1, 6}) {
      ASSERT_TRUE(append(plain, tokens));
      ASSERT_TRUE(append_fused(fused, tokens));
    }
    EXPECT_EQ(fused.capacity(), plain.capacity());
    const Result<ContiguousKvView> one = plain.get_kv(), other = fused.get_kv();
    EXPECT_EQ(one->seq_len, other->seq_len);
    EXPECT_EQ(one->row_stride, other->row_stride);
    EXPECT_EQ(one->head_stride, other->head_stride);
    expect_contents(plain);
    expect_contents(fused);
  }
}

TEST(ContiguousKvCache, G1_capacity_is_the_initial_one_within_the_maximum) {
  ContiguousKvOptions options = kSmall;
  options.initial_capacity = 64;
  EXPECT_EQ(make(options).capacity(), 20);
}

TEST(ContiguousKvCache, G1_growth_doubles_up_to_the_maximum) {
  ContiguousKvCache cache = make();
  std::vector<int> capacities;
  for (int tokens = 1; tokens <= 20; ++tokens) {
    ASSERT_TRUE(append(cache, 1));
    if (capacities.empty() || capacities.back() != cache.capacity()) capacities.push_back(cache.capacity());
  }
  EXPECT_THAT(capacities, ElementsAre(4, 8, 16, 20));
  EXPECT_EQ(cache.bytes(), 2ULL * 2 * 2 * 20 * 4 * 4);
  expect_contents(cache);
}

TEST(ContiguousKvCache, G1_elements_of_f16_and_bf16_are_rounded_to_the_nearest) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 3);
  for (const auto& [type, bound] :
       {std::pair{KvType::kF16, 0x1p-11F}, std::pair{KvType::kBF16, 0x1p-8F}}) {  // half a unit in the last place
    ContiguousKvCache cache = make({.type = type, .num_kv_heads = 3, .head_dim = 80, .max_seq_len = 4});
    std::vector<float> keys(3 * 80), values(3 * 80);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = normal(random), values[i] = normal(random);
    ASSERT_TRUE(cache.update_row(0, keys, values, 1));
    EXPECT_EQ(cache.bytes(), 2ULL * 3 * 80 * 2);
    const Result<ContiguousKvView> view = cache.get_kv();
    for (int head = 0; head < 3; ++head)
      for (int d = 0; d < 80; ++d) {
        const float key = keys[static_cast<std::size_t>(head * 80 + d)];
        const float value = values[static_cast<std::size_t>(head * 80 + d)];
        EXPECT_LE(std::abs(element(*view, false, 0, head, 0, d) - key), std::abs(key) * bound);
        EXPECT_LE(std::abs(element(*view, true, 0, head, 0, d) - value), std::abs(value) * bound);
      }
  }
}

TEST(ContiguousKvCache, G2_initial_capacity_0_works) {
  ContiguousKvOptions options = kSmall;
  options.initial_capacity = 0;
  ContiguousKvCache cache = make(options);
  EXPECT_EQ(cache.capacity(), 0);
  EXPECT_EQ(cache.bytes(), 0U);
  EXPECT_TRUE(cache.raw_keys().empty());
  EXPECT_FALSE(cache.get_kv());
  ASSERT_TRUE(append(cache, 1));
  EXPECT_EQ(cache.capacity(), 1);
  ASSERT_TRUE(append(cache, 4));
  EXPECT_EQ(cache.capacity(), 8);
  expect_contents(cache);
}

TEST(ContiguousKvCache, G2_growth_copies_only_what_was_written) {
  // 32 MiB: so large that growing takes fresh pages from the system, which hold zeros, whatever was freed before.
  ContiguousKvCache cache =
      make({.batch = 2, .num_kv_heads = 2, .head_dim = 128, .initial_capacity = 4096, .max_seq_len = 8192});
  constexpr std::byte kMark{0xAB};
  std::ranges::fill(cache.raw_keys(), kMark);
  std::ranges::fill(cache.raw_values(), kMark);
  ASSERT_TRUE(append_row(cache, 0, 3));
  ASSERT_TRUE(append_row(cache, 1, 1));
  ASSERT_TRUE(cache.reserve(4097));
  EXPECT_EQ(cache.capacity(), 8192);
  EXPECT_EQ(std::ranges::count(cache.raw_keys(), kMark), 0);
  EXPECT_EQ(std::ranges::count(cache.raw_values(), kMark), 0);
  expect_contents(cache);
}

TEST(ContiguousKvCache, G2_an_append_touches_only_the_new_positions) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(cache.reserve(16));
  constexpr std::byte kMark{0xAB};  // as a float no value of value_at()
  std::ranges::fill(cache.raw_keys(), kMark);
  std::ranges::fill(cache.raw_values(), kMark);
  ASSERT_TRUE(append_row(cache, 0, 2));
  ASSERT_TRUE(append(cache, 3));
  ASSERT_TRUE(append_fused(cache, 2));
  for (const std::span<std::byte> raw : {cache.raw_keys(), cache.raw_values()})
    for (int row = 0; row < 2; ++row)
      for (int head = 0; head < 2; ++head) {
        const auto first = static_cast<std::size_t>((row * 2 + head) * 16 + cache.length(row));
        const auto rest = static_cast<std::size_t>(16 - cache.length(row));
        EXPECT_THAT(raw.subspan(first * 4 * sizeof(float), rest * 4 * sizeof(float)), Each(kMark));
      }
  expect_contents(cache);
}

TEST(ContiguousKvCache, G4_raw_buffers_hold_keys_and_values_in_the_documented_order) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append(cache, 2));
  ASSERT_EQ(cache.raw_keys().size(), 2U * 2 * 4 * 4 * sizeof(float));
  ASSERT_EQ(cache.raw_values().size(), cache.raw_keys().size());
  float key = 0, value = 0;
  const std::size_t at = ((1 * 2 + 1) * 4 + 1) * 4 + 3;  // row 1, head 1, position 1, dimension 3
  std::memcpy(&key, cache.raw_keys().data() + at * sizeof(float), sizeof key);
  std::memcpy(&value, cache.raw_values().data() + at * sizeof(float), sizeof value);
  EXPECT_EQ(key, value_at(false, 1, 1, 1, 3));
  EXPECT_EQ(value, value_at(true, 1, 1, 1, 3));
}

TEST(ContiguousKvCache, G4_what_a_caller_wrote_itself_counts_after_increment) {
  ContiguousKvCache cache = make();
  for (int head = 0; head < 2; ++head)
    for (int d = 0; d < 4; ++d) {
      const float key = value_at(false, 1, head, 0, d), value = value_at(true, 1, head, 0, d);
      const auto at = static_cast<std::size_t>(((2 + head) * 4 + 0) * 4 + d) * sizeof(float);
      std::memcpy(cache.raw_keys().data() + at, &key, sizeof key);
      std::memcpy(cache.raw_values().data() + at, &value, sizeof value);
    }
  ASSERT_TRUE(cache.increment(1, 1));
  EXPECT_EQ(cache.length(1), 1);
  expect_contents(cache);
}

TEST(ContiguousKvCache, G4_get_kv_copies_nothing) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append(cache, 2));
  const Result<ContiguousKvView> view = cache.get_kv();
  EXPECT_EQ(view->keys, cache.raw_keys().data());
  EXPECT_EQ(view->values, cache.raw_values().data());
}

TEST(ContiguousKvCache, G5_each_row_has_a_length_of_its_own) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append_row(cache, 1, 3));
  ASSERT_TRUE(append(cache, 2));
  ASSERT_TRUE(append_row(cache, 0, 4));
  EXPECT_EQ(cache.length(0), 6);
  EXPECT_EQ(cache.length(1), 5);
  EXPECT_EQ(cache.seq_len(), 6);
  EXPECT_THAT(cache.get_kv()->lengths, ElementsAre(6, 5));
  expect_contents(cache);
  ASSERT_TRUE(cache.truncate(0, 1));
  EXPECT_EQ(cache.seq_len(), 5);
  ASSERT_TRUE(append_row(cache, 0, 2));
  EXPECT_EQ(cache.length(0), 3);
  expect_contents(cache);
  EXPECT_EQ(cache.length(2), 0);
  EXPECT_EQ(cache.length(-1), 0);
}

TEST(ContiguousKvCache, G5_increment_past_the_capacity_is_an_error) {
  ContiguousKvCache cache = make();
  EXPECT_TRUE(cache.increment(0, 3));
  const Result<void> past = cache.increment(0, 2);
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().message, "cache overflow: 3 tokens and 2 new ones in memory for 4");
  EXPECT_FALSE(cache.increment(0, -1));
  EXPECT_FALSE(cache.increment(0, std::numeric_limits<int>::max()));
  EXPECT_EQ(cache.length(0), 3);
  EXPECT_THAT(cache.increment(2, 1).error().message, HasSubstr("found row 2, expected 0 to 1"));
}

TEST(ContiguousKvCache, G5_wrong_shapes_are_refused_and_nothing_changes) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append(cache, 2));
  const std::vector<float> right(2 * 2 * 4), short_one(2 * 2 * 4 - 1), row(2 * 4);
  EXPECT_THAT(cache.update(short_one, right, 1).error().message,
              HasSubstr("found 15 keys, expected 16 (2 rows of 1 tokens, 2 heads of 4 dimensions)"));
  EXPECT_THAT(cache.update(right, short_one, 1).error().message, HasSubstr("found 15 values, expected 16"));
  EXPECT_THAT(cache.update_fused(right, right, 2).error().message, HasSubstr("found 16 keys, expected 32"));
  EXPECT_THAT(cache.update_row(0, right, right, 1).error().message, HasSubstr("found 16 keys, expected 8"));
  EXPECT_THAT(cache.update_row(2, row, row, 1).error().message, HasSubstr("found row 2, expected 0 to 1"));
  EXPECT_THAT(cache.update_row(-1, row, row, 1).error().message, HasSubstr("found row -1"));
  EXPECT_THAT(cache.update({}, {}, -1).error().message, HasSubstr("found -1 new tokens"));
  EXPECT_THAT(cache.truncate(0, 3).error().message, HasSubstr("cannot keep 3 tokens of row 0, which has 2"));
  EXPECT_FALSE(cache.truncate(0, -1));
  EXPECT_FALSE(cache.truncate(2, 0));
  EXPECT_TRUE(cache.update({}, {}, 0));
  EXPECT_EQ(cache.length(0), 2);
  EXPECT_EQ(cache.length(1), 2);
  expect_contents(cache);
}

TEST(ContiguousKvCache, G1_options_that_make_no_sense_are_refused) {
  const auto message_of = [](auto change) {
    ContiguousKvOptions options = kSmall;
    change(options);
    const Result<ContiguousKvCache> cache = ContiguousKvCache::create(options);
    return cache ? std::string() : cache.error().message;
  };
  EXPECT_THAT(message_of([](auto& o) { o.type = KvType::kQ8_0; }), HasSubstr("found q8_0"));
  EXPECT_THAT(message_of([](auto& o) { o.type = static_cast<KvType>(5); }), HasSubstr("KV type: found number 5"));
  EXPECT_THAT(message_of([](auto& o) { o.batch = 0; }), HasSubstr("batch is 0, expected at least 1"));
  EXPECT_THAT(message_of([](auto& o) { o.num_kv_heads = -1; }), HasSubstr("num_kv_heads is -1"));
  EXPECT_THAT(message_of([](auto& o) { o.head_dim = 0; }), HasSubstr("head_dim is 0"));
  EXPECT_THAT(message_of([](auto& o) { o.max_seq_len = 0; }), HasSubstr("max_seq_len is 0"));
  EXPECT_THAT(message_of([](auto& o) { o.initial_capacity = -1; }), HasSubstr("initial_capacity is -1"));
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_THAT(message_of([](auto& o) { o.batch = o.num_kv_heads = o.max_seq_len = kMost; }),
              HasSubstr("too many to address"));
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(ContiguousKvCache, NoMemoryIsAnErrorAndChangesNothing) {
  // 2^57 bytes: no address space has them.
  ContiguousKvCache cache = make({.num_kv_heads = 1 << 12, .head_dim = 1 << 11, .max_seq_len = 1 << 30});
  EXPECT_THAT(cache.reserve(1 << 30).error().message, HasSubstr("no memory for 1073741824 tokens"));
  EXPECT_EQ(cache.capacity(), 0);
}
#endif

TEST(ContiguousKvCache, KernelsSeeOneBlockARow) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(append(cache, 3));
  const KvLayer layer = cache.layer();
  EXPECT_EQ(layer.block_size, 4);
  EXPECT_EQ(layer.k_order, KOrder::kTokenMajor);
  const std::uint8_t* at = layer.data + 1 * layer.block_bytes + 1 * layer.head_bytes;  // row 1, head 1
  float key = 0, value = 0;
  std::memcpy(&key, at + 2 * 4 * sizeof(float), sizeof key);  // position 2
  std::memcpy(&value, at + layer.v_offset + 2 * 4 * sizeof(float), sizeof value);
  EXPECT_EQ(key, value_at(false, 1, 1, 2, 0));
  EXPECT_EQ(value, value_at(true, 1, 1, 2, 0));
}

// Against a map from place to value: any order of appends, truncations, resets and reservations.
RC_GTEST_PROP(ContiguousKvCacheProperty, HoldsWhatWasAppendedLast, ()) {
  std::minstd_rand random(*rc::gen::inRange(1U, 1U << 30));
  const auto draw = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  const ContiguousKvOptions options{
      .type = std::array{KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kI16}[random() % 4],
      .batch = 1 + draw(3),
      .num_kv_heads = 1 + draw(3),
      .head_dim = 1 + draw(70),
      .initial_capacity = draw(5),
      .max_seq_len = 1 + draw(40)};
  ContiguousKvCache cache = make(options);
  std::vector<int> lengths(static_cast<std::size_t>(options.batch), 0);
  for (int call = 0; call < 30; ++call) {
    const int tokens = draw(6), row = draw(options.batch), what = draw(7);
    int& length = lengths[static_cast<std::size_t>(row)];
    if (what <= 1) {
      const bool fits = std::ranges::max(lengths) + tokens <= options.max_seq_len;
      RC_ASSERT((what == 0 ? append(cache, tokens) : append_fused(cache, tokens)).has_value() == fits);
      if (fits)
        for (int& each : lengths) each += tokens;
    } else if (what <= 3) {
      const bool fits = length + tokens <= options.max_seq_len;
      RC_ASSERT(append_row(cache, row, tokens).has_value() == fits);
      if (fits) length += tokens;
    } else if (what == 4) {
      length = draw(length + 1);
      RC_ASSERT(cache.truncate(row, length).has_value());
    } else if (what == 5) {
      const int room = draw(50);
      RC_ASSERT(cache.reserve(room).has_value() == (room <= options.max_seq_len));
      RC_ASSERT(room > options.max_seq_len || cache.capacity() >= room);
    } else if (draw(10) == 0) {
      cache.reset();
      std::ranges::fill(lengths, 0);
    }
    for (int r = 0; r < options.batch; ++r) RC_ASSERT(cache.length(r) == lengths[static_cast<std::size_t>(r)]);
    RC_ASSERT(cache.is_empty() == (std::ranges::max(lengths) == 0));
    if (!cache.is_empty()) expect_contents(cache);
  }
  RC_ASSERT(!::testing::Test::HasFailure());
}

}  // namespace
}  // namespace octavo
