// Layers of two head shapes, and layers that read the keys and values of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kv/kv_arena.h"
#include "kv_library/kv_values.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// Heads of 3 and of 5 dimensions; the first look back 8 tokens. The last two layers borrow from one of each.
PagedKvOptions two_shapes(KvLayout layout = KvLayout::kPaged) {
  return {.type = KvType::kF32,
          .layout = layout,
          .block_size = 4,
          .layers = {{2, 3, 3, 8}, {1, 5, 5}, {2, 3, 3, 8}, {2, 3, 3, 6, 2}, {1, 5, 5, 0, 1}},
          .num_blocks = 16};
}

std::vector<float> values_of(const PagedKvCache& cache, int layer, float x) {
  std::vector<float> values(static_cast<std::size_t>(cache.num_kv_heads(layer) * cache.head_dim(layer)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = x + static_cast<float>(i) / 256;
  return values;
}

/// Positions first .. end - 1 in all layers that are written.
void write(PagedKvCache& cache, SequenceId id, int first, int end) {
  ASSERT_TRUE(cache.reserve(id, first, end));
  for (int layer = 0; layer < 3; ++layer)
    for (int position = first; position < end; ++position) {
      const auto x = static_cast<float>(100 * layer + position);
      ASSERT_TRUE(cache.write_kv(id, layer, position, values_of(cache, layer, x), values_of(cache, layer, -x)));
    }
  cache.commit(id, end);
}

/// What a layer holds of a position; `lender` is the layer that was written.
void expect_position(const PagedKvCache& cache, SequenceId id, int layer, int lender, int position) {
  const auto x = static_cast<float>(100 * lender + position);
  std::vector<float> key = values_of(cache, layer, 0), value = key;
  ASSERT_TRUE(cache.read_kv(id, layer, position, key, value)) << "layer " << layer << ", position " << position;
  EXPECT_EQ(key, values_of(cache, layer, x));
  EXPECT_EQ(value, values_of(cache, layer, -x));
}

TEST(PagedKvLayers, EachLayerHasItsOwnWidth) {
  for (const KvLayout layout : {KvLayout::kPaged, KvLayout::kContiguous}) {
    const auto cache = make_cache(two_shapes(layout));
    ASSERT_EQ(cache->num_layers(), 5);
    ASSERT_EQ(cache->num_groups(), 2);
    EXPECT_THAT(cache->group(0).layers, ElementsAre(0, 2));
    EXPECT_EQ(cache->num_kv_heads(), 2);
    EXPECT_EQ(cache->head_dim(4), 5);
    EXPECT_EQ(cache->window(3), 6);
    EXPECT_EQ(cache->window(0), 8);
    const SequenceId id = cache->create_sequence();
    for (int end = 1; end <= 20; ++end) write(*cache, id, end - 1, end);
    const std::vector<int> lenders = {0, 1, 2, 2, 1};
    for (int layer = 0; layer < 5; ++layer) {
      const int lender = lenders[static_cast<std::size_t>(layer)];
      EXPECT_EQ(cache->group_of_layer(layer), cache->group_of_layer(lender));
      EXPECT_EQ(cache->layer_length(id, layer), 20);
      for (int position = lender == 1 ? 0 : 13; position < 20; ++position)
        expect_position(*cache, id, layer, lender, position);
    }
    expect_intact(*cache);
  }
}

TEST(PagedKvLayers, WidthsAreCheckedAgainstTheLayers) {
  const auto cache = make_cache(two_shapes());
  const SequenceId id = cache->create_sequence();
  const std::vector<float> six(6), five(5);
  EXPECT_THAT(error_of(cache->write_kv(id, 0, 0, five, five)), EndsWith("elements, expected 6"));
  EXPECT_THAT(error_of(cache->write_kv(id, 1, 0, six, six)), EndsWith("elements, expected 5"));
  EXPECT_THAT(error_of(cache->write_kv(id, 7, 0, five, five)),
              EndsWith("elements, expected 6"));  // no such layer: the first's
  EXPECT_THAT(error_of(cache->write_kv(id, 7, 0, six, six)), EndsWith("out of range, the cache has 5"));
  EXPECT_EQ(error_of(cache->write_kv(id, 4, 0, five, five)),
            "layer 4 has no keys and values of its own, it reads those of layer 1");
  EXPECT_EQ(cache->token_capacity(id), 0);
  std::vector<float> out5(5), out6(6);
  EXPECT_THAT(error_of(cache->read_kv(id, 4, 0, out6, out6)), EndsWith("elements, expected 5"));
  EXPECT_THAT(error_of(cache->read_kv(id, 4, 0, out5, out5)), HasSubstr("holds nothing or is out of range"));
}

TEST(PagedKvLayers, OptionsOfLayersAreChecked) {
  const auto message = [](auto change) {
    PagedKvOptions options = two_shapes();
    change(options.layers);
    const auto cache = PagedKvCache::create(options);
    return cache ? std::string("none") : cache.error().message;
  };
  EXPECT_THAT(message([](auto& layers) { layers[1].num_kv_heads = 0; }), HasSubstr("layer 1: num_kv_heads is 0"));
  EXPECT_THAT(message([](auto& layers) { layers[4].k_dim = 577; }), HasSubstr("layer 4: head_dim is 577"));
  EXPECT_THAT(message([](auto& layers) { layers[4].v_dim = 4; }),
              HasSubstr("layer 4: v_dim is 4, expected 5 as k_dim"));
  EXPECT_THAT(message([](auto& layers) { layers[4].v_in_k = true; }),
              HasSubstr("layer 4: values lie in keys, expected values of their own"));
  EXPECT_THAT(message([](auto& layers) { layers[3].borrows_from = 3; }), HasSubstr("layer 3 borrows from layer 3"));
  EXPECT_THAT(message([](auto& layers) { layers[3].window = 9; }), HasSubstr("layer 3 looks back 9 tokens"));
}

TEST(PagedKvLayers, ForkCopiesABlockInEveryShapeAndSharingFindsIt) {
  const auto cache = make_cache(two_shapes());
  const SequenceId id = cache->create_sequence();
  std::vector<TokenId> tokens(20);
  for (int i = 0; i < 20; ++i) tokens[static_cast<std::size_t>(i)] = i;
  write(*cache, id, 0, 10);
  ASSERT_TRUE(cache->publish(id, tokens, ""));
  const SequenceId child = *cache->fork(id);
  write(*cache, child, 10, 12);  // in a block that is shared
  EXPECT_EQ(cache->stats().copies, 2U);
  for (const int position : {8, 9, 10, 11})
    for (const auto& [layer, lender] : {std::pair{3, 2}, std::pair{4, 1}})
      expect_position(*cache, child, layer, lender, position);
  const SequenceId other = cache->create_sequence();
  EXPECT_EQ(*cache->attach_prefix(other, tokens, ""), 8);
  for (int position = 1; position < 8; ++position) expect_position(*cache, other, 4, 1, position);
  expect_intact(*cache);
}

TEST(PagedKvLayers, MemoryIsGivenBackInEveryShape) {
  // 512 blocks of 64 and of 32 KiB.
  const auto cache = make_cache({.type = KvType::kF32,
                                 .layers = {{4, 128, 128}, {4, 64, 64}, {4, 128, 128}, {4, 64, 64, 0, 1}},
                                 .num_blocks = 512});
  const SequenceId id = cache->create_sequence();
  const std::vector<float> wide(512, 1.0F), narrow(256, 1.0F);
  for (const int position : {0, 4000, 8000})
    for (int layer = 0; layer < 3; ++layer) {
      const std::vector<float>& given = layer == 1 ? narrow : wide;
      ASSERT_TRUE(cache->write_kv(id, layer, position, given, given));
    }
  constexpr std::uint64_t kBlock = (2 * 64 + 32) * 1024;
  EXPECT_EQ(cache->arena_bytes(), 512 * kBlock);
  EXPECT_EQ(cache->stats().resident_bytes, 501 * kBlock);
  ASSERT_TRUE(cache->truncate(id, 16));
  cache->release_memory(false);
  EXPECT_EQ(cache->stats().resident_bytes, kBlock);
  EXPECT_LE(cache->arena().resident_bytes(), 3U * 2 * 1024 * 1024) << "a page of 2 MiB of each layer";
  std::vector<float> key(256), value(256);
  ASSERT_TRUE(cache->read_kv(id, 3, 0, key, value));
  EXPECT_EQ(key, narrow);
  ASSERT_TRUE(cache->drop_sequence(id));
  cache->release_memory(false);
  EXPECT_EQ(cache->arena().resident_bytes(), 0U);
}

TEST(PagedKvLayers, WhereOneGroupWithoutAWindowForgetsABlockTheOthersDo) {
  // Only the group of wide heads runs out.
  const auto cache =
      make_cache({.type = KvType::kF32, .block_size = 4, .layers = {{1, 2, 2}, {1, 4, 4}}, .num_blocks = 4});
  std::vector<TokenId> tokens(13, 1);
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(cache->reserve(id, 0, 12));
  cache->commit(id, 12);
  ASSERT_TRUE(cache->publish(id, tokens, ""));
  ASSERT_TRUE(cache->drop_sequence(id));
  EXPECT_EQ(cache->pool(0).stats().cached, 3);
  const SequenceId other = cache->create_sequence();
  const std::vector<float> key(4 * 8);
  ASSERT_TRUE(cache->write_kv(other, 1, 0, key, key, 8));  // a free block, and one that was kept
  EXPECT_EQ(cache->pool(1).stats().cached, 2);
  EXPECT_EQ(cache->pool(0).stats().cached, 2);
  expect_intact(*cache);
  const SequenceId third = cache->create_sequence();
  EXPECT_EQ(*cache->attach_prefix(third, tokens, ""), 8);
}

}  // namespace
}  // namespace octavo
