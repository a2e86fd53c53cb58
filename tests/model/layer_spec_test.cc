// What a layer says of itself, whatever its mixer is.
#include "model/layer_spec.h"

#include <gtest/gtest.h>

#include "model/head_states.h"

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
