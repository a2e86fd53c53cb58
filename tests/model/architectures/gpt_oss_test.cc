#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

/// The keys of the 20b model's file, its sizes made small.
MemorySource gpt_oss_keys(std::uint32_t layers = 5) {
  MemorySource source = family_keys("gpt-oss", layers);
  source.add("gpt-oss.attention.sliding_window", 128U).add("gpt-oss.rope.freq_base", 150000.0F);
  source.add("gpt-oss.rope.scaling.type", "yarn").add("gpt-oss.rope.scaling.factor", 32.0F);
  source.add("gpt-oss.rope.scaling.original_context_length", 4096U);
  source.add("gpt-oss.expert_count", 32U).add("gpt-oss.expert_used_count", 4U);
  source.add("gpt-oss.expert_feed_forward_length", 96U);
  return source;
}

TEST(GptOss, EverySecondLayerHasAWindowFromTheFirstOn) {
  const ModelConfig config = ModelConfig::load(gpt_oss_keys()).value();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(config.layer(i).attention()->window, i % 2 == 0 ? 128 : 0) << i;
}

TEST(GptOss, AttentionHasSinksAndBiasesAndNoNormsOfHeads) {
  const ModelConfig config = ModelConfig::load(gpt_oss_keys()).value();
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec& attention = *layer.attention();
    EXPECT_EQ(attention.sinks, Presence::kRequired);
    EXPECT_EQ(attention.qkv_bias, Presence::kRequired);
    EXPECT_EQ(attention.output_bias, Presence::kRequired);
    EXPECT_EQ(attention.qk_norm, Presence::kAbsent);
    EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
    EXPECT_TRUE(layer.ffn_norm_is_post_attention);
    EXPECT_FALSE(layer.post_norms);
  }
}

TEST(GptOss, TheRampOfYarnIsNotRounded) {
  const ModelConfig config = ModelConfig::load(gpt_oss_keys()).value();
  const RopeScaling& scaling = config.layer(0).attention()->rope.scaling;
  EXPECT_EQ(scaling.divisor, 32.0);
  ASSERT_TRUE(scaling.yarn);
  EXPECT_EQ(*scaling.yarn, (YarnRamp{.original_context = 4096, .whole_pairs = false}));
  EXPECT_DOUBLE_EQ(scaling.magnitude, 0.1 * std::log(32.0) + 1);
  MemorySource plain = gpt_oss_keys();
  plain.add("gpt-oss.rope.scaling.type", "none");
  EXPECT_FALSE(ModelConfig::load(plain).value().layer(0).attention()->rope.scaling.yarn);
}

TEST(GptOss, ItsExpertsHaveBiasesAndABoundedActivation) {
  const ModelConfig config = ModelConfig::load(gpt_oss_keys()).value();
  for (const LayerSpec& layer : config.layers) {
    const auto& experts = std::get<ExpertsFfnSpec>(layer.feed_forward);
    EXPECT_EQ(experts.num_experts, 32);
    EXPECT_EQ(experts.num_chosen, 4);
    EXPECT_EQ(experts.width, 96);
    EXPECT_EQ(experts.biases, Presence::kRequired);
    EXPECT_EQ(experts.activation, Activation::kClampedSwiglu);
  }
}

TEST(GptOss, NothingOfItsOwnHasADefault) {
  const auto error_without = [](std::uint32_t window, std::uint32_t width) {
    MemorySource source = family_keys("gpt-oss");
    source.add("gpt-oss.rope.freq_base", 150000.0F).add("gpt-oss.expert_count", 32U);
    source.add("gpt-oss.expert_used_count", 4U);
    if (window != 0) source.add("gpt-oss.attention.sliding_window", window);
    if (width != 0) source.add("gpt-oss.expert_feed_forward_length", width);
    return error_of(source);
  };
  EXPECT_THAT(error_without(0, 96), HasSubstr("'gpt-oss.attention.sliding_window' is missing"));
  EXPECT_THAT(error_without(128, 0), HasSubstr("'gpt-oss.expert_feed_forward_length' is missing"));
  EXPECT_EQ(error_without(128, 96), "no error");
}

}  // namespace
}  // namespace octavo::test
