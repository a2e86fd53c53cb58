#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

/// Mamba-2, a feed-forward, attention, a feed-forward.
MemorySource nemotron_keys(const std::string& arch = "nemotron_h") {
  MemorySource source = family_keys(arch, 4);
  source.add_array(arch + ".attention.head_count_kv", std::vector<std::int32_t>{0, 0, 2, 0});
  source.add_array(arch + ".feed_forward_length", std::vector<std::int32_t>{0, 96, 0, 48});
  source.add(arch + ".attention.key_length", 32U).add(arch + ".attention.value_length", 32U);
  source.add(arch + ".ssm.conv_kernel", 4U).add(arch + ".ssm.inner_size", 120U).add(arch + ".ssm.state_size", 18U);
  source.add(arch + ".ssm.time_step_rank", 6U).add(arch + ".ssm.group_count", 2U);
  return source;
}

MemorySource mixture_keys() {
  MemorySource source = nemotron_keys("nemotron_h_moe");
  source.add("nemotron_h_moe.expert_count", 8U).add("nemotron_h_moe.expert_used_count", 3U);
  source.add("nemotron_h_moe.expert_feed_forward_length", 24U).add("nemotron_h_moe.expert_weights_scale", 2.5F);
  source.add("nemotron_h_moe.expert_shared_feed_forward_length", 40U);
  source.add("nemotron_h_moe.expert_weights_norm", true);
  return source;
}

TEST(NemotronH, EachLayerHasOnePart) {
  const ModelConfig config = ModelConfig::load(nemotron_keys()).value();
  ASSERT_EQ(config.num_layers(), 4);
  EXPECT_EQ(*config.layer(0).mamba(),
            (MambaSpec{.num_heads = 6, .head_dim = 20, .num_groups = 2, .state_dim = 18, .taps = 4}));
  for (int i = 0; i < 4; ++i) EXPECT_NE(config.layer(i).has_mixer(), config.layer(i).has_feed_forward()) << i;
  const auto& ffn = std::get<DenseFfnSpec>(config.layer(1).feed_forward);
  EXPECT_EQ(ffn.width, 96);
  EXPECT_EQ(ffn.activation, Activation::kSquaredRelu);
  EXPECT_FALSE(ffn.is_gated);
  EXPECT_TRUE(ffn.has_factors);
  EXPECT_TRUE(config.layer(1).ffn_norm_is_mixers);
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(3).feed_forward).width, 48);
  const AttentionSpec& attention = *config.layer(2).attention();
  EXPECT_EQ(attention.head_dim, 32);
  EXPECT_EQ(attention.num_kv_heads, 2);
  EXPECT_EQ(attention.rope.num_rotated, 0);
  EXPECT_EQ(config.norm, NormKind::kRms);
  EXPECT_EQ(config.last_layer_with_state(), 2) << "behind it rows do not meet";
}

TEST(NemotronH, TheEpsilonIsThatOfLayerNormWhereFilesHaveNoOther) {
  EXPECT_EQ(
      ModelConfig::load(nemotron_keys().add("nemotron_h.attention.layer_norm_epsilon", 0.5F)).value().norm_epsilon,
      1e-5F);
  const MemorySource alone = TinyModel{.arch = "nemotron_h", .layers = 4}.source();
  EXPECT_EQ(alone.find("nemotron_h.attention.layer_norm_rms_epsilon"), nullptr);
  EXPECT_EQ(ModelConfig::load(alone).value().norm_epsilon, 1e-5F);
}

TEST(NemotronH, MixturesAreChosenBySigmoidsWithABias) {
  const ModelConfig config = ModelConfig::load(mixture_keys()).value();
  for (const int i : {1, 3}) {
    const auto& experts = std::get<ExpertsFfnSpec>(config.layer(i).feed_forward);
    EXPECT_EQ(experts.num_experts, 8);
    EXPECT_EQ(experts.num_chosen, 3);
    EXPECT_EQ(experts.width, 24);
    EXPECT_EQ(experts.shared_width, 40);
    EXPECT_FALSE(experts.shared_is_gated);
    EXPECT_FALSE(experts.is_gated);
    EXPECT_EQ(experts.activation, Activation::kSquaredRelu);
    EXPECT_EQ(experts.router, (RouterSpec{.gate = RouterSpec::Gate::kSigmoid,
                                          .sums_to_one = true,
                                          .weights_scale = 2.5F,
                                          .choice_bias = Presence::kRequired}));
    EXPECT_TRUE(config.layer(i).ffn_norm_is_mixers);
  }
}

TEST(NemotronH, ExpertsMayDifferFromLayerToLayer) {
  MemorySource source = mixture_keys();
  source.add_array("nemotron_h_moe.expert_used_count", std::vector<std::int32_t>{0, 2, 0, 5});
  source.add_array("nemotron_h_moe.expert_feed_forward_length", std::vector<std::int32_t>{0, 16, 0, 32});
  const ModelConfig config = ModelConfig::load(source).value();
  const auto& first = std::get<ExpertsFfnSpec>(config.layer(1).feed_forward);
  const auto& second = std::get<ExpertsFfnSpec>(config.layer(3).feed_forward);
  EXPECT_EQ(first.num_chosen, 2);
  EXPECT_EQ(first.width, 16);
  EXPECT_EQ(second.num_chosen, 5);
  EXPECT_EQ(second.width, 32);
}

TEST(NemotronH, ExpertsMayWorkOnNarrowerRows) {
  for (const std::uint32_t width : {0U, 32U}) {
    const ModelConfig config = ModelConfig::load(mixture_keys().add("nemotron_h_moe.moe_latent_size", width)).value();
    EXPECT_EQ(std::get<ExpertsFfnSpec>(config.layer(1).feed_forward).latent_width, static_cast<int>(width));
  }
}

TEST(NemotronH, WhatIsNotComputedIsRefused) {
  MemorySource none = mixture_keys();
  none.add_array("nemotron_h_moe.expert_used_count", std::vector<std::int32_t>{0, 0, 0, 5});
  EXPECT_THAT(error_of(none),
              HasSubstr("nemotron_h_moe.expert_used_count is 0 and the width of experts is 24 for layer "
                        "1, expected both above 0"));
  EXPECT_THAT(error_of(mixture_keys().add("nemotron_h_moe.expert_used_count", 9U)),
              HasSubstr("nemotron_h_moe.expert_used_count is 9, but nemotron_h_moe.expert_count is 8"));
  MemorySource headless = nemotron_keys();
  headless.add_array("nemotron_h.attention.head_count", std::vector<std::int32_t>{4, 4, 0, 4});
  EXPECT_THAT(error_of(headless), HasSubstr("nemotron_h.attention.head_count is 0 for a layer with 2 KV heads"));
}

TEST(FalconH1, EveryLayerHasMamba2BesideAttention) {
  MemorySource source = family_keys("falcon-h1");
  source.add("falcon-h1.rope.freq_base", 1e11F);
  source.add("falcon-h1.ssm.conv_kernel", 4U).add("falcon-h1.ssm.inner_size", 120U);
  source.add("falcon-h1.ssm.state_size", 18U).add("falcon-h1.ssm.time_step_rank", 6U);
  source.add("falcon-h1.ssm.group_count", 2U);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 2; ++i) {
    const LayerSpec& layer = config.layer(i);
    ASSERT_TRUE(layer.attention() != nullptr && layer.mamba() != nullptr);
    EXPECT_EQ(layer.mamba()->norm, Presence::kOptional);
    EXPECT_EQ(layer.mamba()->head_dim, 20);
    EXPECT_EQ(layer.attention()->rope.layout, RopeLayout::kHalves);
    EXPECT_TRUE(layer.ffn_norm_is_bare);
    EXPECT_FALSE(std::get<DenseFfnSpec>(layer.feed_forward).has_factors);
    EXPECT_TRUE(layer.kv_shape().has_value());
    EXPECT_EQ(layer.state_bytes(), layer.mamba()->state_bytes());
    EXPECT_EQ(layer.result_width(), 120) << "the wider one, of Mamba-2";
  }
  EXPECT_EQ(config.last_layer_with_state(), 1);
}

}  // namespace
}  // namespace octavo::test
