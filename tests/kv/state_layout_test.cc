// Which layers share a block table, where a layer's keys and values lie, and what a block takes.
#include "kv/state_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<StateLayout> layout_of(const std::vector<std::optional<KvLayerShape>>& layers,
                              KvLayout layout = KvLayout::kPaged) {
  return StateLayout::create(KvType::kF16, layout, 16, layers);
}

// Gemma 4's kinds of layers: a window and heads of 256 dimensions, or neither; and layers that borrow from both.
std::vector<std::optional<KvLayerShape>> two_shapes() {
  const KvLayerShape windowed{.num_kv_heads = 2, .k_dim = 256, .v_dim = 256, .window = 512},
      global{.num_kv_heads = 1, .k_dim = 512, .v_dim = 512};
  std::vector<std::optional<KvLayerShape>> layers = {windowed, windowed, global, windowed, windowed, global};
  layers[4]->borrows_from = 3;
  layers[4]->window = 100;
  layers[5]->borrows_from = 2;
  return layers;
}

TEST(StateLayout, LayersWithEqualWindowsAndHeadsShareATable) {
  const StateLayout layout = layout_of(two_shapes()).value();
  ASSERT_EQ(layout.num_groups(), 2);
  EXPECT_THAT(layout.group(0).layers, ElementsAre(0, 1, 3));
  EXPECT_THAT(layout.group(1).layers, ElementsAre(2));
  EXPECT_EQ(layout.group(0).window, 512);
  EXPECT_EQ(layout.group(1).k_dim, 512);
  EXPECT_EQ(layout.num_layers(), 6);
  EXPECT_EQ(layout.place(3).index, 2);
  // Equal windows, other heads; equal heads, another window.
  const std::vector<std::optional<KvLayerShape>> different = {KvLayerShape{1, 8, 8}, KvLayerShape{2, 8, 8},
                                                              KvLayerShape{1, 16, 16}, KvLayerShape{1, 8, 8, 4},
                                                              KvLayerShape{1, 8, 8}};
  EXPECT_EQ(layout_of(different)->num_groups(), 4);
}

TEST(StateLayout, TwoHaveOneNameOnlyWhereTheirBlocksHoldTheSame) {
  std::set<std::string> names;
  const auto add = [&](KvType type, int block_size, const KvLayerShape& shape, std::size_t recurrent_bytes) {
    const std::vector<std::optional<KvLayerShape>> layers = {shape, std::nullopt};
    const std::vector<std::size_t> recurrent = {0, recurrent_bytes};
    const auto name = [&] {
      return StateLayout::create(type, KvLayout::kPaged, block_size, layers, recurrent)->name();
    };
    EXPECT_EQ(name(), name());
    names.insert(name());
  };
  const KvLayerShape shape{.num_kv_heads = 2, .k_dim = 8, .v_dim = 8};
  add(KvType::kF16, 16, shape, 0);
  add(KvType::kBF16, 16, shape, 0);
  add(KvType::kF16, 32, shape, 0);
  add(KvType::kF16, 16, {.num_kv_heads = 2, .k_dim = 16, .v_dim = 16}, 0);
  add(KvType::kF16, 16, {.num_kv_heads = 1, .k_dim = 8, .v_dim = 8}, 0);
  add(KvType::kF16, 16, {.num_kv_heads = 2, .k_dim = 8, .v_dim = 8, .window = 4}, 0);
  add(KvType::kF16, 16, {.num_kv_heads = 2, .k_dim = 8, .v_dim = 8, .v_in_k = true}, 0);
  add(KvType::kF16, 16, {.num_kv_heads = 2, .k_dim = 16, .v_dim = 8, .v_in_k = true}, 0);  // as many bytes
  add(KvType::kF16, 16, shape, 64);
  add(KvType::kF16, 16, shape, 128);
  EXPECT_EQ(names.size(), 10U);
}

TEST(StateLayout, ALayerThatBorrowsHasItsLendersPlace) {
  const StateLayout layout = layout_of(two_shapes()).value();
  for (const auto& [layer, lender] : {std::pair{4, 3}, std::pair{5, 2}}) {
    EXPECT_EQ(layout.lender(layer), lender);
    EXPECT_EQ(layout.lender(lender), lender);
    EXPECT_EQ(layout.place(layer).group, layout.place(lender).group);
    EXPECT_EQ(layout.place(layer).index, layout.place(lender).index);
  }
  EXPECT_EQ(layout.place(4).window, 100);
  EXPECT_EQ(layout.place(3).window, 512);
}

TEST(StateLayout, ALayerWithoutKeysAndValuesHasNoPlace) {
  const StateLayout layout =
      layout_of({std::nullopt, KvLayerShape{1, 8, 8}, std::nullopt, KvLayerShape{1, 8, 8}}).value();
  ASSERT_EQ(layout.num_groups(), 1);
  EXPECT_THAT(layout.group(0).layers, ElementsAre(1, 3));
  EXPECT_FALSE(layout.places[0] || layout.places[2]);
}

TEST(StateLayout, ABlockTakesTheBytesOfItsGroup) {
  const StateLayout layout = layout_of(two_shapes()).value();
  EXPECT_EQ(layout.layer_block_bytes(0), 16U * 2 * 2 * 256 * 2);  // tokens, K and V, heads, dimensions, bytes
  EXPECT_EQ(layout.layer_block_bytes(1), 16U * 2 * 1 * 512 * 2);
  EXPECT_EQ(layout.block_bytes(0), 3 * layout.layer_block_bytes(0));
  EXPECT_EQ(layout.block_bytes(), layout.block_bytes(0) + layout.block_bytes(1));
  EXPECT_EQ(layout.bytes_per_token(), 3U * 2 * 2 * 256 * 2 + 2 * 512 * 2);
  const StateRoom room{.layout = layout, .num_blocks = {3, 5}};
  EXPECT_EQ(room.bytes(), 3 * layout.block_bytes(0) + 5 * layout.block_bytes(1));
  EXPECT_EQ(room.longest_sequence(), 48);  // 3 blocks do not hold a window, so they end with their last one
  EXPECT_EQ((StateRoom{.layout = layout, .num_blocks = {33, 90}}.longest_sequence()), 90 * 16);
}

TEST(StateLayout, ALenderMustFit) {
  const auto error = [](const std::vector<std::optional<KvLayerShape>>& layers) {
    const Result<StateLayout> layout = layout_of(layers);
    return layout ? "no error" : layout.error().message;
  };
  EXPECT_THAT(error({}), HasSubstr("found 0 layers, expected one with keys and values of its own"));
  EXPECT_THAT(error({std::nullopt}), HasSubstr("found 1 layers"));
  EXPECT_THAT(error({KvLayerShape{0, 8, 8}}), HasSubstr("layer 0 has 0 KV heads of 8 dimensions"));
  EXPECT_THAT(error({KvLayerShape{1, 8, 8, -1}}), HasSubstr("window of layer 0 is -1"));
  EXPECT_THAT(error({KvLayerShape{1, 8, 8, 0, 0}}), HasSubstr("layer 0 borrows from layer 0, expected an earlier one"));
  EXPECT_THAT(error({std::nullopt, KvLayerShape{1, 8, 8, 0, 0}}), HasSubstr("layer 1 borrows from layer 0, expected"));
  EXPECT_THAT(error({KvLayerShape{1, 8, 8}, KvLayerShape{1, 8, 8, 0, 0}, KvLayerShape{1, 8, 8, 0, 1}}),
              HasSubstr("layer 2 borrows from layer 1, expected"));
  EXPECT_THAT(error({KvLayerShape{1, 8, 8}, KvLayerShape{1, 16, 16, 0, 0}}),
              HasSubstr("layer 1 has 1 KV heads of 16 dimensions, layer 0, from which it borrows, 1 of 8"));
  EXPECT_THAT(error({KvLayerShape{1, 8, 8, 4}, KvLayerShape{1, 8, 8, 5, 0}}),
              HasSubstr("layer 1 looks back 5 tokens (0: all), expected at most the 4 of layer 0"));
  EXPECT_EQ(error({KvLayerShape{1, 8, 8}, KvLayerShape{1, 8, 8, 5, 0}}), "no error");
  const KvLayerShape chunked{.num_kv_heads = 1, .k_dim = 8, .v_dim = 8, .window = 4, .is_chunked = true};
  KvLayerShape borrowing = chunked;
  borrowing.borrows_from = 0;
  EXPECT_EQ(error({chunked, borrowing}), "no error");
  borrowing.is_chunked = false;
  EXPECT_THAT(error({chunked, borrowing}), HasSubstr("layer 1 does not see chunks of 4 tokens, as layer 0 does"));
}

TEST(StateLayout, LayersThatSeeChunksHaveATableOfTheirOwn) {
  const KvLayerShape windowed{.num_kv_heads = 1, .k_dim = 8, .v_dim = 8, .window = 24};
  KvLayerShape chunked = windowed;
  chunked.is_chunked = true;
  const StateLayout layout = layout_of({windowed, chunked, windowed}).value();
  ASSERT_EQ(layout.num_groups(), 2);
  EXPECT_EQ(layout.group(0).first_seen(30), 7);
  EXPECT_EQ(layout.group(1).first_seen(47), 24);
  EXPECT_EQ(layout.group(1).first_seen(48), 48) << "it sees none of those before it";
  EXPECT_NE(layout_of({windowed}).value().name(), layout_of({chunked}).value().name());
}

TEST(StateLayout, KeysAndValuesMayDifferInWidth) {
  const KvLayerShape shape{.num_kv_heads = 2, .k_dim = 72, .v_dim = 5};
  const StateLayout halves =
      StateLayout::create(KvType::kF16, KvLayout::kPaged, 16, std::array{std::optional(shape)}).value();
  EXPECT_EQ(halves.v_offset(0), 16U * 72 * 2);
  EXPECT_EQ(halves.head_bytes(0), 16U * (72 + 5) * 2);
  const StateLayout integers =
      StateLayout::create(KvType::kI16, KvLayout::kPaged, 16, std::array{std::optional(shape)}).value();
  EXPECT_EQ(integers.v_offset(0), 16U * 72 * 2);
  EXPECT_EQ(integers.head_bytes(0), 16U * (72 + 5 + 2 + 1) * 2);
  const auto error = [](KvLayout layout, const std::vector<std::optional<KvLayerShape>>& layers) {
    const Result<StateLayout> made = StateLayout::create(KvType::kF16, layout, 16, layers);
    return made ? "no error" : made.error().message;
  };
  EXPECT_EQ(error(KvLayout::kPaged, {shape, KvLayerShape{2, 72, 5, 0, 0}}), "no error");
  EXPECT_THAT(
      error(KvLayout::kPaged, {shape, KvLayerShape{2, 72, 6, 0, 0}}),
      HasSubstr("layer 1 has 2 KV heads of 72 dimensions with values of 6, layer 0, from which it borrows, 2 of "
                "72 with values of 5"));
  EXPECT_THAT(
      error(KvLayout::kContiguous, {shape}),
      HasSubstr("layer 0 has heads of 72 dimensions with values of 5, expected keys and values of equal width"));
}

TEST(StateLayout, ValuesInKeysTakeNoMemory) {
  const KvLayerShape shape{.num_kv_heads = 1, .k_dim = 576, .v_dim = 512, .v_in_k = true};
  const auto bytes = [&](KvType type) {
    return StateLayout::create(type, KvLayout::kPaged, 16, std::array{std::optional(shape)}).value().bytes_per_token();
  };
  EXPECT_EQ(bytes(KvType::kF32), 576U * 4);
  EXPECT_EQ(bytes(KvType::kF16), 576U * 2);
  EXPECT_EQ(bytes(KvType::kI16), (576U + 9) * 2);
  EXPECT_EQ(bytes(KvType::kQ8_0), 576U + 18 * 2);
  KvLayerShape beside = shape;
  beside.v_in_k = false;
  EXPECT_EQ(layout_of({shape, beside, shape}).value().num_groups(), 2);
}

TEST(StateLayout, ValuesInKeysThatDoNotFitAreRefused) {
  const KvLayerShape shape{.num_kv_heads = 1, .k_dim = 8, .v_dim = 8, .v_in_k = true};
  const auto error = [](KvLayout layout, const std::vector<std::optional<KvLayerShape>>& layers) {
    const Result<StateLayout> made = layout_of(layers, layout);
    return made ? "no error" : made.error().message;
  };
  KvLayerShape borrowing = shape;
  borrowing.borrows_from = 0;
  EXPECT_EQ(error(KvLayout::kPaged, {shape, borrowing}), "no error");
  borrowing.v_in_k = false;
  EXPECT_THAT(error(KvLayout::kPaged, {shape, borrowing}),
              HasSubstr("layer 1 has 1 KV heads of 8 dimensions, layer 0, from which it borrows, 1 of 8 whose first 8 "
                        "are values"));
  KvLayerShape wide = shape;
  wide.v_dim = 9;
  EXPECT_THAT(error(KvLayout::kPaged, {wide}),
              HasSubstr("layer 0 has values of 9 dimensions in keys, expected at most the 8 of a key"));
  EXPECT_THAT(error(KvLayout::kContiguous, {shape}),
              HasSubstr("layer 0 has heads of 8 dimensions whose first 8 are values, expected keys and values of equal "
                        "width, each with memory of its own"));
}

}  // namespace
}  // namespace octavo
