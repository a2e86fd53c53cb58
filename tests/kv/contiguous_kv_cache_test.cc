// The growing contiguous cache: capacity, what growth keeps, and its bound.
#include "kv/contiguous_kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace octavo {
namespace {

using ::testing::HasSubstr;

constexpr ContiguousKvCache::Shape kShape{
    .type = KvType::kF32, .num_kv_heads = 2, .head_dim = 4, .initial_capacity = 4, .max_seq_len = 20};

ContiguousKvCache make(const ContiguousKvCache::Shape& shape = kShape) {
  Result<ContiguousKvCache> cache = ContiguousKvCache::create(shape);
  if (!cache) throw std::runtime_error(cache.error().message);
  return std::move(*cache);
}

float* element(const KvLayer& layer, bool value, int head, int token) {
  return reinterpret_cast<float*>(layer.data + (value ? layer.v_offset : 0) +
                                  static_cast<std::size_t>(head) * layer.head_bytes) +
         token * layer.head_dim;
}

TEST(ContiguousKvCache, CapacityIsTheInitialOneWithinTheMaximum) {
  EXPECT_EQ(make().capacity(), 4);
  EXPECT_EQ(make({.type = KvType::kF16, .num_kv_heads = 1, .head_dim = 8, .initial_capacity = 64, .max_seq_len = 10})
                .capacity(),
            10);
  EXPECT_EQ(make({.type = KvType::kBF16, .num_kv_heads = 1, .head_dim = 8, .initial_capacity = 0, .max_seq_len = 10})
                .capacity(),
            0);
}

TEST(ContiguousKvCache, GrowthDoublesUpToTheMaximum) {
  ContiguousKvCache cache = make();
  ASSERT_TRUE(cache.reserve(5, 4));
  EXPECT_EQ(cache.capacity(), 8);
  ASSERT_TRUE(cache.reserve(8, 4));
  EXPECT_EQ(cache.capacity(), 8);
  ASSERT_TRUE(cache.reserve(17, 8));
  EXPECT_EQ(cache.capacity(), 20);
  EXPECT_EQ(cache.bytes(), 20U * 2 * 2 * 4 * sizeof(float));
}

TEST(ContiguousKvCache, GrowthFromNothingFindsRoomForMany) {
  ContiguousKvCache cache =
      make({.type = KvType::kF16, .num_kv_heads = 1, .head_dim = 2, .initial_capacity = 0, .max_seq_len = 100});
  ASSERT_TRUE(cache.reserve(33, 0));
  EXPECT_EQ(cache.capacity(), 64);
}

TEST(ContiguousKvCache, GrowthKeepsWhatWasWritten) {
  ContiguousKvCache cache = make();
  for (const bool value : {false, true})
    for (int head = 0; head < 2; ++head)
      for (int token = 0; token < 3; ++token)
        for (int d = 0; d < 4; ++d)
          element(cache.layer(), value, head, token)[d] =
              static_cast<float>(1000 * value + 100 * head + 10 * token + d);
  ASSERT_TRUE(cache.reserve(9, 3));
  for (const bool value : {false, true})
    for (int head = 0; head < 2; ++head)
      for (int token = 0; token < 3; ++token)
        for (int d = 0; d < 4; ++d)
          EXPECT_EQ(element(cache.layer(), value, head, token)[d],
                    static_cast<float>(1000 * value + 100 * head + 10 * token + d));
}

TEST(ContiguousKvCache, OverflowNamesThreeNumbersAndChangesNothing) {
  ContiguousKvCache cache = make();
  const Result<void> grown = cache.reserve(24, 4);
  ASSERT_FALSE(grown);
  EXPECT_THAT(grown.error().message, HasSubstr("cache overflow: 24 tokens, 20 of them new, in a cache of at most 20"));
  EXPECT_EQ(cache.capacity(), 4);
}

TEST(ContiguousKvCache, ElementsWithScalesAreRefused) {
  ContiguousKvCache::Shape shape = kShape;
  shape.type = KvType::kQ8_0;
  const Result<ContiguousKvCache> cache = ContiguousKvCache::create(shape);
  ASSERT_FALSE(cache);
  EXPECT_THAT(cache.error().message, HasSubstr("found q8_0"));
}

}  // namespace
}  // namespace octavo
