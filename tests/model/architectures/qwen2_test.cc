#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

TEST(Qwen2, HalvesRotateAndEveryLayerHasBiases) {
  MemorySource source = family_keys("qwen2");
  source.add("qwen2.rope.freq_base", 1e6F);
  const ModelConfig config = ModelConfig::load(source).value();
  ASSERT_EQ(config.num_layers(), 2);
  EXPECT_EQ(config.logit_bias, Presence::kOptional);
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec& attention = *layer.attention();
    EXPECT_EQ(attention.qkv_bias, Presence::kRequired);
    EXPECT_EQ(attention.qk_norm, Presence::kAbsent);
    EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
    EXPECT_EQ(attention.rope.factors, Presence::kAbsent);
    EXPECT_EQ(attention.rope.base, 1e6);
    EXPECT_EQ(attention.window, 0);
    EXPECT_EQ(std::get<DenseFfnSpec>(layer.feed_forward).activation, Activation::kSilu);
    EXPECT_FALSE(layer.post_norms);
  }
}

TEST(Qwen2, TextOfQwen2VlIsReadAsItsLayersAre) {
  MemorySource source = family_keys("qwen2vl");
  source.add("qwen2vl.rope.freq_base", 1e6F);
  source.add_array("qwen2vl.rope.dimension_sections", std::vector<std::int32_t>{2, 3, 3, 0});
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.layer(1).attention()->qkv_bias, Presence::kRequired);
  EXPECT_EQ(config.layer(1).attention()->rope.num_rotated, 16);
  EXPECT_EQ(config.layer(1).attention()->rope.layout, RopeLayout::kHalves);
}

TEST(Qwen2, TheRopeBaseHasNoDefault) {
  EXPECT_THAT(error_of(family_keys("qwen2")), HasSubstr("'qwen2.rope.freq_base' is missing"));
}

}  // namespace
}  // namespace octavo::test
