#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

/// The keys of the 35B model's file, its sizes made small.
MemorySource qwen35moe_keys() {
  MemorySource source = family_keys("qwen35moe", 8);
  source.add("qwen35moe.rope.freq_base", 1e7F).add("qwen35moe.rope.dimension_count", 4U);
  source.add("qwen35moe.ssm.group_count", 2U).add("qwen35moe.ssm.time_step_rank", 6U);
  source.add("qwen35moe.ssm.state_size", 16U).add("qwen35moe.ssm.inner_size", 72U);
  source.add("qwen35moe.ssm.conv_kernel", 4U).add("qwen35moe.expert_count", 256U);
  source.add("qwen35moe.expert_used_count", 8U);
  return source;
}

TEST(Qwen35Moe, EveryLayerIsAMixtureWhateverItsMixer) {
  MemorySource source = qwen35moe_keys();
  source.add("qwen35moe.expert_feed_forward_length", 24U).add("qwen35moe.expert_shared_feed_forward_length", 48U);
  const ModelConfig config = ModelConfig::load(source).value();
  ASSERT_EQ(config.num_layers(), 8);
  for (int i = 0; i < 8; ++i) {
    const LayerSpec& layer = config.layer(i);
    EXPECT_EQ(layer.attention() != nullptr, i % 4 == 3) << i;
    EXPECT_TRUE(layer.ffn_norm_is_post_attention);
    const auto& experts = std::get<ExpertsFfnSpec>(layer.feed_forward);
    EXPECT_EQ(experts.num_experts, 256);
    EXPECT_EQ(experts.num_chosen, 8);
    EXPECT_EQ(experts.width, 24);
    EXPECT_EQ(experts.shared_width, 48);
    EXPECT_EQ(experts.biases, Presence::kAbsent);
    EXPECT_EQ(experts.activation, Activation::kSilu);
  }
  EXPECT_TRUE(config.layer(3).attention()->gated_output);
  EXPECT_EQ(config.layer(3).attention()->qk_norm, Presence::kRequired);
}

TEST(Qwen35Moe, BothWidthsMustBeThere) {
  MemorySource source = qwen35moe_keys();
  EXPECT_THAT(error_of(source), HasSubstr("'qwen35moe.expert_feed_forward_length' is missing"));
  source.add("qwen35moe.expert_feed_forward_length", 24U);
  EXPECT_THAT(error_of(source), HasSubstr("'qwen35moe.expert_shared_feed_forward_length' is missing"));
  source.add("qwen35moe.expert_shared_feed_forward_length", 0U);
  EXPECT_THAT(error_of(source), HasSubstr("qwen35moe.expert_shared_feed_forward_length is 0"));
}

}  // namespace
}  // namespace octavo::test
