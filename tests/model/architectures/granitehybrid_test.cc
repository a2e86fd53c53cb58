#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource hybrid_keys(const std::vector<std::int32_t>& kv_heads = {0, 0, 2, 0}) {
  MemorySource source = family_keys("granitehybrid", static_cast<std::uint32_t>(kv_heads.size()));
  source.add_array("granitehybrid.attention.head_count_kv", kv_heads);
  source.add("granitehybrid.ssm.conv_kernel", 4U).add("granitehybrid.ssm.inner_size", 120U);
  source.add("granitehybrid.ssm.state_size", 18U).add("granitehybrid.ssm.time_step_rank", 6U);
  source.add("granitehybrid.ssm.group_count", 2U);
  return source;
}

TEST(GraniteHybrid, LayersWithoutKvHeadsAreMamba2AndAllHaveAFeedForward) {
  MemorySource source = hybrid_keys();
  source.add("granitehybrid.rope.scaling.finetuned", false).add("granitehybrid.attention.scale", 0.0625F);
  source.add("granitehybrid.embedding_scale", 12.0F).add("granitehybrid.residual_scale", 0.25F);
  source.add("granitehybrid.logit_scale", 8.0F);
  const ModelConfig config = ModelConfig::load(source).value();
  ASSERT_EQ(config.num_layers(), 4);
  for (int i = 0; i < 4; ++i) {
    const LayerSpec& layer = config.layer(i);
    EXPECT_EQ(std::get<DenseFfnSpec>(layer.feed_forward).width, 96) << i;
    EXPECT_FALSE(std::get<DenseFfnSpec>(layer.feed_forward).has_factors) << i;
    ASSERT_EQ(layer.mamba() == nullptr, i == 2) << i;
    if (i == 2) continue;
    EXPECT_EQ(*layer.mamba(), (MambaSpec{.num_heads = 6, .head_dim = 20, .num_groups = 2, .state_dim = 18, .taps = 4}));
  }
  const AttentionSpec& attention = *config.layer(2).attention();
  EXPECT_EQ(attention.num_heads, 4);
  EXPECT_EQ(attention.num_kv_heads, 2);
  EXPECT_EQ(attention.rope.num_rotated, 0);
  EXPECT_EQ(attention.scale, 0.0625F);
  EXPECT_EQ(config.embedding_scale, 12.0F);
  EXPECT_EQ(config.residual_scale, 0.25F);
  EXPECT_EQ(config.logit_scale, 0.125F);
  EXPECT_EQ(config.last_layer_with_state(), 3);
}

TEST(GraniteHybrid, NeighboursRotateWhereTheFileDoesNotSayThatNothingDoes) {
  const RopeSpec rope = ModelConfig::load(hybrid_keys()).value().layer(2).attention()->rope;
  EXPECT_EQ(rope.num_rotated, 16);
  EXPECT_EQ(rope.layout, RopeLayout::kNeighbours);
}

TEST(GraniteHybrid, AMixtureHasAPlainSoftmaxAndAnExpertForEveryRow) {
  MemorySource source = hybrid_keys();
  source.add("granitehybrid.expert_count", 8U).add("granitehybrid.expert_used_count", 3U);
  source.add("granitehybrid.expert_shared_feed_forward_length", 128U);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) {
    const auto& experts = std::get<ExpertsFfnSpec>(config.layer(i).feed_forward);
    EXPECT_EQ(experts.num_experts, 8);
    EXPECT_EQ(experts.width, 96);
    EXPECT_EQ(experts.shared_width, 128);
    EXPECT_FALSE(experts.shared_is_gated);
    EXPECT_EQ(experts.router, RouterSpec{});
    EXPECT_FALSE(experts.has_factors);
  }
}

TEST(GraniteHybrid, WhatIsNotAModelOfThisFamilyIsRefused) {
  const auto with = [](const std::string& key, auto value) {
    return error_of(hybrid_keys().add("granitehybrid." + key, value));
  };
  EXPECT_THAT(with("ssm.conv_kernel", 1U), HasSubstr("granitehybrid.ssm.conv_kernel is 1, expected 2 to 8"));
  EXPECT_THAT(with("ssm.time_step_rank", 5U),
              HasSubstr("granitehybrid.ssm.time_step_rank is 5, not a multiple of granitehybrid.ssm.group_count, which "
                        "is 2"));
  EXPECT_THAT(
      with("ssm.inner_size", 121U),
      HasSubstr("granitehybrid.ssm.inner_size is 121, not a multiple of granitehybrid.ssm.time_step_rank, which "
                "is 6"));
  EXPECT_THAT(with("ssm.state_size", 1025U),
              HasSubstr("granitehybrid.ssm.state_size makes heads of 1025 dimensions, expected at most 1024"));
  EXPECT_THAT(with("ssm.inner_size", 6U * 1025),
              HasSubstr("granitehybrid.ssm.inner_size makes heads of 1025 dimensions, expected at most 1024"));
  EXPECT_THAT(error_of(hybrid_keys()
                           .add("granitehybrid.ssm.group_count", 1U << 20)
                           .add("granitehybrid.ssm.time_step_rank", 1U << 20)
                           .add("granitehybrid.ssm.inner_size", 1U << 20)),
              HasSubstr("with granitehybrid.ssm.inner_size they make more than 16777216 channels"));
  MemorySource headless = hybrid_keys();
  headless.add_array("granitehybrid.attention.head_count", std::vector<std::int32_t>{4, 4, 0, 4});
  EXPECT_THAT(error_of(headless), HasSubstr("granitehybrid.attention.head_count is 0 for a layer with 2 KV heads"));
  EXPECT_THAT(error_of(hybrid_keys({0, 0})),
              HasSubstr("granitehybrid.attention.head_count_kv is 0 for all 2 layers, expected one that attends"));
}

}  // namespace
}  // namespace octavo::test
