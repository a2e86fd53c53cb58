// What a layer says of itself, whatever its mixer is.
#include "model/layer_spec.h"

#include <gtest/gtest.h>

#include "kv/kv_budget.h"
#include "model/head_states.h"
#include "model/model_state.h"

namespace octavo::test {
namespace {

TEST(LayerSpec, ALayerThatAttendsHasKeysAndValuesAndNoState) {
  const LayerSpec layer{.mixer =
                            AttentionSpec{.num_heads = 6, .num_kv_heads = 2, .head_dim = 32, .window = 7, .rope = {}}};
  ASSERT_TRUE(layer.kv_shape());
  EXPECT_EQ(layer.kv_shape()->num_kv_heads, 2);
  EXPECT_EQ(layer.kv_shape()->k_dim, 32);
  EXPECT_EQ(layer.kv_shape()->v_dim, 32);
  EXPECT_EQ(layer.kv_shape()->window, 7);
  EXPECT_EQ(layer.kv_shape()->borrows_from, std::nullopt);
  EXPECT_EQ(layer.state_bytes(), 0U);
  EXPECT_TRUE(layer.writes_state());
  EXPECT_EQ(layer.result_width(), 192);
}

TEST(LayerSpec, ALayerThatBorrowsReadsKeysAndValuesAndWritesNothing) {
  const LayerSpec layer{
      .mixer = AttentionSpec{.num_heads = 1, .num_kv_heads = 1, .head_dim = 8, .rope = {}, .borrows_from = 3}};
  EXPECT_EQ(layer.kv_shape()->borrows_from, 3);
  EXPECT_FALSE(layer.writes_state());
}

TEST(LayerSpec, ARecurrentLayerHasAStateAndNoKeys) {
  const DeltaSpec spec{.num_key_heads = 1, .num_value_heads = 3, .key_dim = 4, .value_dim = 5, .taps = 4};
  const LayerSpec layer{.mixer = spec};
  EXPECT_FALSE(layer.kv_shape());
  EXPECT_EQ(layer.state_bytes(), states_of(spec).bytes());
  EXPECT_GT(layer.state_bytes(), 3U * 4 * 5 * sizeof(float));
  EXPECT_TRUE(layer.writes_state());
  EXPECT_EQ(layer.result_width(), 15);
}

TEST(LayerSpec, Mamba2HasAStateForEachHeadAndTheInputsOfItsConvolution) {
  const MambaSpec spec{.num_heads = 6, .head_dim = 40, .num_groups = 2, .state_dim = 16, .taps = 4};
  EXPECT_EQ(spec.num_channels(), 6 * 40 + 2 * 2 * 16);
  EXPECT_EQ(spec.norm_width(), 120);
  for (int head = 0; head < 6; ++head) EXPECT_EQ(spec.group(head), head < 3 ? 0 : 1);
  const LayerSpec layer{.mixer = spec};
  EXPECT_FALSE(layer.kv_shape());
  EXPECT_EQ(layer.state_bytes(), (6U * 2 * 16 * 32 + 3U * 304) * sizeof(float));
  EXPECT_TRUE(layer.writes_state());
  EXPECT_EQ(layer.result_width(), 240);
  EXPECT_EQ(layer.mamba(), std::get_if<MambaSpec>(&layer.mixer));
}

// Granite 4.0 H Tiny; docs/kv_recurrent.md has the numbers.
TEST(LayerSpec, StatesOfMamba2AreLargeBesideFewKeysAndValues) {
  const AttentionSpec attention{.num_heads = 12, .num_kv_heads = 4, .head_dim = 128, .rope = {}};
  const MambaSpec mamba{.num_heads = 48, .head_dim = 64, .num_groups = 1, .state_dim = 128, .taps = 4};
  ModelConfig config;
  for (int i = 0; i < 40; ++i) {
    LayerSpec layer{.mixer = mamba};
    if (i % 10 == 5) layer.mixer = attention;
    config.layers.push_back(layer);
  }
  const StateLayout layout = state_layout(config, KvType::kI16, KvLayout::kPaged, 16).value();
  EXPECT_EQ(layout.snapshot.bytes >> 20, 55U);
  EXPECT_EQ(layout.bytes_per_token() >> 10, 8U);
  EXPECT_EQ(layout.tokens_of_a_snapshot(), 6992);
  const StateRoom room = make_room(layout, {.bytes = std::uint64_t{1} << 30, .max_sequences = 32}).value();
  EXPECT_EQ(room.num_snapshots, 9);
  EXPECT_EQ(room.num_blocks.front() * 16, 66240);
}

TEST(LayerSpec, AShortConvolutionKeepsTheRowsBeforeTheNext) {
  const LayerSpec layer{.mixer = ShortConvSpec{.width = 10, .taps = 4}};
  EXPECT_FALSE(layer.kv_shape());
  EXPECT_EQ(layer.state_bytes(), 3U * 10 * sizeof(float));
  EXPECT_TRUE(layer.writes_state());
  EXPECT_EQ(layer.result_width(), 10);
}

TEST(LayerSpec, ALayerWithoutAMixerKeepsNothing) {
  const LayerSpec layer{.mixer = NoPart(), .feed_forward = DenseFfnSpec{.width = 8}};
  EXPECT_FALSE(layer.has_mixer());
  EXPECT_TRUE(layer.has_feed_forward());
  EXPECT_FALSE(layer.kv_shape());
  EXPECT_EQ(layer.state_bytes(), 0U);
  EXPECT_FALSE(layer.writes_state());
  EXPECT_EQ(layer.result_width(), 0);
}

}  // namespace
}  // namespace octavo::test
