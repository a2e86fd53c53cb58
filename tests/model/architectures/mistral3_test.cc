#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource mistral3_keys() {
  MemorySource source = family_keys("mistral3");
  source.add("mistral3.rope.freq_base", 1e6F);
  return source;
}

MemorySource ministral_keys() {
  MemorySource source = mistral3_keys();
  source.add("mistral3.rope.scaling.type", "yarn").add("mistral3.rope.scaling.factor", 16.0F);
  source.add("mistral3.rope.scaling.original_context_length", 32U);
  source.add("mistral3.rope.scaling.yarn_log_multiplier", 1.0F).add("mistral3.attention.temperature_scale", 0.1F);
  return source;
}

AttentionSpec attention_of(const MemorySource& source) {
  return *ModelConfig::load(source).value().layer(1).attention();
}

TEST(Mistral3, ItsLayersAreLlamas) {
  const AttentionSpec attention = attention_of(mistral3_keys());
  EXPECT_EQ(attention.rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(attention.rope.base, 1e6);
  EXPECT_EQ(attention.window, 0);
  EXPECT_EQ(attention.rope.factors, Presence::kOptional);
  EXPECT_EQ(attention.output_bias, Presence::kOptional);
  EXPECT_FALSE(attention.temperature.has_value());
}

TEST(Mistral3, ExpertsMakeAMixtureOfTheFeedForwardsWidth) {
  MemorySource source = mistral3_keys();
  source.add("mistral3.expert_count", 8U).add("mistral3.expert_used_count", 2U);
  const LayerSpec layer = ModelConfig::load(source).value().layer(1);
  const auto& experts = std::get<ExpertsFfnSpec>(layer.feed_forward);
  EXPECT_EQ(experts.num_experts, 8);
  EXPECT_EQ(experts.num_chosen, 2);
  EXPECT_EQ(experts.width, 96);
}

TEST(Mistral3, MinistralsScoresGrowWithThePositionBeyondTheFirstContext) {
  const AttentionSpec attention = attention_of(ministral_keys());
  ASSERT_TRUE(attention.temperature.has_value());
  EXPECT_FLOAT_EQ(static_cast<float>(attention.temperature->slope), 0.1F);
  EXPECT_EQ(attention.temperature->length, 32);
  EXPECT_EQ(attention.rope.scaling.divisor, 16.0);
  EXPECT_EQ(attention.rope.scaling.magnitude, 1.0);  // all of YaRN's growth is in the model's own scale
}

TEST(Mistral3, AFileMayNameTheLengthOfAStep) {
  MemorySource source = ministral_keys();
  source.add("mistral3.attention.temperature_length", 0U);  // none, as llama.cpp writes it
  EXPECT_EQ(attention_of(source).temperature->length, 32);
  source.add("mistral3.attention.temperature_length", 8U);
  EXPECT_EQ(attention_of(source).temperature->length, 8);
  source.add("mistral3.attention.temperature_length", 1U << 31);
  EXPECT_THAT(error_of(source), HasSubstr("mistral3.attention.temperature_length is 2147483648, expected 1 to"));
}

TEST(Mistral3, ASlopeOfZeroIsNoneAndANegativeOneIsRefused) {
  MemorySource source = ministral_keys();
  source.add("mistral3.attention.temperature_scale", 0.0F);
  EXPECT_FALSE(attention_of(source).temperature.has_value());
  source.add("mistral3.attention.temperature_scale", -0.1F);
  EXPECT_THAT(error_of(source), HasSubstr("mistral3.attention.temperature_scale is -0.1, expected 0 or a positive"));
}

TEST(Mistral3, OtherFamiliesRefuseATemperature) {
  MemorySource source = family_keys("llama");
  source.add("llama.attention.temperature_scale", 0.1F);
  EXPECT_THAT(error_of(source), HasSubstr("llama.attention.temperature_scale is 0.1, expected 0: this is not"));
}

}  // namespace
}  // namespace octavo::test
