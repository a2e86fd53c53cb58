#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource lfm2_keys(const std::vector<std::int32_t>& kv_heads = {0, 0, 2, 0}) {
  MemorySource source = family_keys("lfm2", static_cast<std::uint32_t>(kv_heads.size()));
  source.add_array("lfm2.attention.head_count_kv", kv_heads);
  source.add("lfm2.rope.freq_base", 1e6F).add("lfm2.shortconv.l_cache", 3U);
  return source;
}

TEST(Lfm2, LayersWithoutKvHeadsAreShortConvolutions) {
  const ModelConfig config = ModelConfig::load(lfm2_keys()).value();
  ASSERT_EQ(config.num_layers(), 4);
  EXPECT_TRUE(config.output_norm_is_embedding_norm);
  for (int i = 0; i < 4; ++i) {
    const LayerSpec& layer = config.layer(i);
    EXPECT_EQ(std::get<DenseFfnSpec>(layer.feed_forward).width, 96) << i;
    EXPECT_FALSE(std::get<DenseFfnSpec>(layer.feed_forward).has_factors) << i;
    ASSERT_EQ(layer.short_conv() == nullptr, i == 2) << i;
    if (i != 2) {
      EXPECT_EQ(*layer.short_conv(), (ShortConvSpec{.width = 64, .taps = 3}));
    }
  }
  const AttentionSpec& attention = *config.layer(2).attention();
  EXPECT_EQ(attention.num_heads, 4);
  EXPECT_EQ(attention.num_kv_heads, 2);
  EXPECT_EQ(attention.qk_norm, Presence::kRequired);
  EXPECT_FALSE(attention.qk_norm_after_rope);
  EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
  EXPECT_EQ(attention.window, 0);
}

TEST(Lfm2, NumbersBesideMatricesOfFeedForwardsMultiplyNothing) {
  const ModelConfig dense = ModelConfig::load(lfm2_keys()).value();
  EXPECT_FALSE(std::get<DenseFfnSpec>(dense.layer(0).feed_forward).has_factors);
  MemorySource source = family_keys("lfm2moe");
  source.add_array("lfm2moe.attention.head_count_kv", std::vector<std::int32_t>{0, 2});
  source.add("lfm2moe.rope.freq_base", 1e6F).add("lfm2moe.shortconv.l_cache", 3U);
  source.add("lfm2moe.expert_count", 8U).add("lfm2moe.expert_used_count", 2U);
  source.add("lfm2moe.expert_feed_forward_length", 24U).add("lfm2moe.leading_dense_block_count", 1U);
  const ModelConfig experts = ModelConfig::load(source).value();
  EXPECT_FALSE(std::get<DenseFfnSpec>(experts.layer(0).feed_forward).has_factors);
  EXPECT_FALSE(std::get<ExpertsFfnSpec>(experts.layer(1).feed_forward).has_factors);
}

TEST(Lfm2, AWindowIsThatOfAllLayersThatAttendOrOfThePattern) {
  MemorySource source = lfm2_keys({2, 0, 2});
  source.add("lfm2.attention.sliding_window", 32U);
  const ModelConfig all = ModelConfig::load(source).value();
  EXPECT_EQ(all.layer(0).attention()->window, 32);
  EXPECT_EQ(all.layer(2).attention()->window, 32);
  source.add_array("lfm2.attention.sliding_window_pattern", std::vector{true, false, false});
  const ModelConfig first = ModelConfig::load(source).value();
  EXPECT_EQ(first.layer(0).attention()->window, 32);
  EXPECT_EQ(first.layer(2).attention()->window, 0);
  source.add("lfm2.attention.sliding_window", 0U);
  EXPECT_EQ(ModelConfig::load(source).value().layer(0).attention()->window, 0);
}

TEST(Lfm2, WhatIsNotAModelOfThisFamilyIsRefused) {
  const auto with = [](const std::string& key, auto value) { return error_of(lfm2_keys().add("lfm2." + key, value)); };
  EXPECT_THAT(with("shortconv.l_cache", 1U), HasSubstr("lfm2.shortconv.l_cache is 1, expected 2 to 8"));
  EXPECT_THAT(with("shortconv.l_cache", 9U), HasSubstr("lfm2.shortconv.l_cache is 9, expected 2 to 8"));
  MemorySource headless = lfm2_keys();
  headless.add_array("lfm2.attention.head_count", std::vector<std::int32_t>{4, 4, 0, 4});
  EXPECT_THAT(error_of(headless), HasSubstr("lfm2.attention.head_count is 0 for a layer with 2 KV heads"));
  EXPECT_THAT(error_of(lfm2_keys({0, 0})),
              HasSubstr("lfm2.attention.head_count_kv is 0 for all 2 layers, expected one that attends at least"));
  EXPECT_THAT(with("attention.causal", false),
              HasSubstr("lfm2.attention.causal is false, but some layers have no keys and values of their own"));
  EXPECT_THAT(with("expert_count", 8U), HasSubstr("lfm2.expert_count is 8: mixtures of experts are not supported"));
}

}  // namespace
}  // namespace octavo::test
