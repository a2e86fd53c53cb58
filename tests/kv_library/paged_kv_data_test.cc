// Values that are written through the public border of the paged cache, and read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv_library/kv_values.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PagedKvCache, P10_positions_are_written_alone_in_bulk_and_with_gaps) {
  const auto cache = make_cache(small());
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(write_number(*cache, id, 0, 4, 40));  // before 1
  EXPECT_EQ(cache->token_capacity(id), 8);
  ASSERT_TRUE(write_number(*cache, id, 0, 1, 10));
  EXPECT_EQ(read_number(*cache, id, 0, 4), 40);
  EXPECT_EQ(read_number(*cache, id, 0, 1), 10);
  EXPECT_TRUE(std::isnan(read_number(*cache, id, 0, 0)));
  EXPECT_TRUE(std::isnan(read_number(*cache, id, 1, 4)));  // another layer
  std::vector<float> keys, values;
  for (int i = 0; i < 7; ++i) {
    const auto x = static_cast<float>(i);
    for (const float key : kv_of(*cache, x)) keys.push_back(key);
    for (const float value : kv_of(*cache, -x)) values.push_back(value);
  }
  ASSERT_TRUE(cache->write_kv(id, 1, 3, keys, values, 7));
  EXPECT_EQ(cache->token_capacity(id), 12);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(read_number(*cache, id, 1, 3 + i), static_cast<float>(i));
  ASSERT_TRUE(cache->write_kv(id, 1, 30, {}, {}, 0));
  EXPECT_EQ(cache->token_capacity(id), 12);
  expect_intact(*cache);
}

TEST(PagedKvCache, P10_wrong_sizes_and_places_are_errors) {
  const auto cache = make_cache(small(2));
  const SequenceId id = cache->create_sequence();
  const std::vector<float> right(6), wrong(5);
  EXPECT_EQ(error_of(cache->write_kv(99, 99, -1, wrong, wrong)), "wrong length: found 5 elements, expected 6");
  EXPECT_EQ(error_of(cache->write_kv(99, 99, -1, right, std::vector<float>(7))),
            "wrong length: found 7 elements, expected 6");
  EXPECT_THAT(error_of(cache->write_kv(id, 0, 0, right, right, 2)), EndsWith("elements, expected 12"));
  EXPECT_THAT(error_of(cache->write_kv(id, 0, 0, right, right, -1)), EndsWith("elements, expected 0"));
  EXPECT_EQ(error_of(cache->write_kv(99, 99, -1, right, right)), "sequence 99 not found");
  EXPECT_THAT(error_of(cache->write_kv(id, 99, -1, right, right)), HasSubstr("out of range, the cache has"));
  EXPECT_THAT(error_of(cache->write_kv(id, 0, -1, right, right)), StartsWith("position -1 of sequence"));
  EXPECT_THAT(error_of(cache->write_kv(id, 0, INT64_MAX, right, right)),
              HasSubstr("of sequence " + std::to_string(id)));
  EXPECT_THAT(error_of(cache->write_kv(id, 0, 8, right, right)), EndsWith("needs 3 blocks, 2 are free"));
  EXPECT_TRUE(is_out_of_blocks(cache->write_kv(id, 0, INT64_MAX - 1, right, right)));
  EXPECT_EQ(cache->pool(0).free_count(), 2);
  std::vector<float> out(6), few(5);
  EXPECT_THAT(error_of(cache->read_kv(id, 0, 0, few, out)), HasSubstr("found 5 elements"));
  EXPECT_THAT(error_of(cache->read_kv(id, 0, 0, out, few)), HasSubstr("found 5 elements"));
}

TEST(PagedKvCache, P11_a_bad_layer_says_so) {
  const auto cache = make_cache(small());
  const SequenceId id = cache->create_sequence();
  std::vector<float> one(6);
  for (const int layer : {-1, 2}) {
    for (const auto& error : {error_of(cache->write_kv(id, layer, 0, one, one)), error_of(cache->read_kv(id, layer, 0)),
                              error_of(cache->read_kv(id, layer, 0, one, one))})
      EXPECT_EQ(error, "layer " + std::to_string(layer) + " out of range, the cache has 2");
  }
}

TEST(PagedKvCache, P12_f32_is_read_without_copying_through_strides) {
  for (const KvLayout layout : {KvLayout::kPaged, KvLayout::kContiguous}) {
    PagedKvOptions options = small();
    options.layout = layout;
    const auto cache = make_cache(options);
    const SequenceId id = cache->create_sequence();
    ASSERT_TRUE(step_to(*cache, id, 10, 100));
    for (int layer = 0; layer < 2; ++layer) {
      for (int position = 0; position < 10; ++position) {
        const Result<KvView> view = cache->read_kv(id, layer, position);
        ASSERT_TRUE(view);
        std::vector<float> key(6), value(6);
        ASSERT_TRUE(cache->read_kv(id, layer, position, key, value));
        for (int i = 0; i < 6; ++i) {
          const int head = i / 3, d = i % 3;
          EXPECT_EQ(view->key.data[head * view->key.head_stride + d * view->key.dim_stride],
                    key[static_cast<std::size_t>(i)]);
          EXPECT_EQ(view->value.data[head * view->value.head_stride + d * view->value.dim_stride],
                    value[static_cast<std::size_t>(i)]);
        }
        EXPECT_EQ(read_number(*cache, id, layer, position), 100 + static_cast<float>(position));
      }
      // Not a copy: what is written later is seen through a view from before.
      const KvView before = *cache->read_kv(id, layer, 3);
      ASSERT_TRUE(write_number(*cache, id, layer, 3, 55));
      EXPECT_EQ(*before.key.data, 55);
      EXPECT_EQ(*before.value.data, -55);
    }
  }
}

TEST(PagedKvCache, P12_views_are_of_f32_only_and_copies_of_every_type) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kI16}) {
    PagedKvOptions options = small();
    options.type = type;
    const auto cache = make_cache(options);
    const SequenceId id = cache->create_sequence();
    const std::vector<float> zeros(6);
    ASSERT_TRUE(cache->write_kv(id, 0, 0, zeros, zeros));
    EXPECT_EQ(error_of(cache->read_kv(id, 0, 0)),
              "wrong element type: found " + std::string(kv_type_name(type)) + ", expected f32");
    std::vector<float> key(6, 1), value(6, 1);
    ASSERT_TRUE(cache->read_kv(id, 0, 0, key, value));
    EXPECT_EQ(key, zeros);
    EXPECT_EQ(value, zeros);
  }
}

TEST(PagedKvCache, P13_what_was_never_written_is_an_error_and_never_stale) {
  const auto cache = make_cache(small(2));
  const SequenceId a = cache->create_sequence();
  ASSERT_TRUE(step_to(*cache, a, 8, 100));
  ASSERT_TRUE(cache->drop_sequence(a));
  const SequenceId b = cache->create_sequence();
  ASSERT_TRUE(cache->ensure_capacity(b, 8));  // the same memory
  ASSERT_TRUE(write_number(*cache, b, 0, 2, 5));
  for (int layer = 0; layer < 2; ++layer) {
    for (const std::int64_t position : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
                                        std::int64_t{3}, std::int64_t{7}, std::int64_t{8}, INT64_MAX}) {
      if (layer == 0 && position == 2) continue;
      std::vector<float> key(6, 3), value(6, 3);
      EXPECT_THAT(error_of(cache->read_kv(b, layer, position, key, value)),
                  StartsWith("position " + std::to_string(position) + " of sequence " + std::to_string(b)));
      EXPECT_EQ(key, std::vector<float>(6, 3));
      EXPECT_THAT(error_of(cache->read_kv(b, layer, position)), HasSubstr("holds nothing or is out of range"));
    }
  }
  EXPECT_EQ(error_of(cache->read_kv(a, 0, 0)), "sequence " + std::to_string(a) + " not found");
}

}  // namespace
}  // namespace octavo
