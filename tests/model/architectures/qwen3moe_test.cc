#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource qwen3moe(const std::string& architecture = "qwen3moe") {
  MemorySource source = family_keys(architecture);
  source.add(architecture + ".rope.freq_base", 1e6F).add(architecture + ".expert_count", 128U);
  source.add(architecture + ".expert_used_count", 8U);
  return source;
}

TEST(Qwen3Moe, HeadsAreNormedAndLayersAreMixtures) {
  MemorySource source = qwen3moe();
  source.add("qwen3moe.expert_feed_forward_length", 24U);
  const ModelConfig config = ModelConfig::load(source).value();
  ASSERT_EQ(config.num_layers(), 2);
  for (const LayerSpec& layer : config.layers) {
    EXPECT_EQ(layer.attention()->qk_norm, Presence::kRequired);
    EXPECT_EQ(layer.attention()->qkv_bias, Presence::kOptional);
    EXPECT_EQ(layer.attention()->rope.layout, RopeLayout::kHalves);
    const auto& experts = std::get<ExpertsFfnSpec>(layer.feed_forward);
    EXPECT_EQ(experts.num_experts, 128);
    EXPECT_EQ(experts.num_chosen, 8);
    EXPECT_EQ(experts.width, 24);
    EXPECT_EQ(experts.activation, Activation::kSilu);
    EXPECT_EQ(experts.router.weights_scale, 1.0F);
  }
}

TEST(Qwen3Moe, ThePartOfQwen3VlThatReadsTextIsTheSame) {
  MemorySource source = qwen3moe("qwen3vlmoe");
  source.add("qwen3vlmoe.expert_feed_forward_length", 24U);
  source.add_array("qwen3vlmoe.rope.dimension_sections", std::vector<std::int32_t>{24, 20, 20, 0});
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.layer(0).attention()->qk_norm, Presence::kRequired);
  EXPECT_EQ(std::get<ExpertsFfnSpec>(config.layer(1).feed_forward).num_experts, 128);
}

TEST(Qwen3Moe, TheWidthOfAnExpertAndTheirNumberMustBeThere) {
  EXPECT_THAT(error_of(qwen3moe()), HasSubstr("'qwen3moe.expert_feed_forward_length' is missing"));
  MemorySource none = qwen3moe();
  none.add("qwen3moe.expert_feed_forward_length", 24U).add("qwen3moe.expert_count", 0U);
  EXPECT_THAT(error_of(none), HasSubstr("qwen3moe.expert_count is 0, expected 1 to 4096"));
}

}  // namespace
}  // namespace octavo::test
