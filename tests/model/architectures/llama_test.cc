#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

LayerSpec layer_of(const MemorySource& source) {
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.layers.size(), 2U);
  return config.layer(1);
}

TEST(Llama, KeysBecomeALayer) {
  const ModelConfig config = ModelConfig::load(family_keys("llama")).value();
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.width, 64);
  EXPECT_EQ(config.vocab_size, 80);
  EXPECT_EQ(config.context_length, 512);
  EXPECT_EQ(config.norm_epsilon, 1e-5F);
  EXPECT_EQ(config.embedding_scale, 1.0F);
  const LayerSpec layer = layer_of(family_keys("llama"));
  const AttentionSpec& attention = *layer.attention();
  EXPECT_EQ(attention.num_heads, 4);
  EXPECT_EQ(attention.num_kv_heads, 2);
  EXPECT_EQ(attention.head_dim, 16);
  EXPECT_EQ(attention.window, 0);
  EXPECT_EQ(attention.scale, 0.25F);
  EXPECT_EQ(attention.qk_norm, Presence::kAbsent);
  EXPECT_FALSE(attention.borrows_from.has_value());
  const auto& ffn = std::get<DenseFfnSpec>(layer.feed_forward);
  EXPECT_EQ(ffn.width, 96);
  EXPECT_EQ(ffn.activation, Activation::kSilu);
  EXPECT_FALSE(layer.post_norms);
}

TEST(Llama, ExpertsMakeAMixtureOfTheFeedForwardsWidth) {
  MemorySource source = family_keys("llama");
  source.add("llama.expert_count", 0U).add("llama.expert_used_count", 0U);
  EXPECT_EQ(std::get<DenseFfnSpec>(layer_of(source).feed_forward).width, 96) << "files may say that there are none";
  source.add("llama.expert_count", 8U).add("llama.expert_used_count", 2U);
  const LayerSpec layer = layer_of(source);
  const auto& experts = std::get<ExpertsFfnSpec>(layer.feed_forward);
  EXPECT_EQ(experts.num_experts, 8);
  EXPECT_EQ(experts.num_chosen, 2);
  EXPECT_EQ(experts.width, 96);
  EXPECT_EQ(layer.attention()->rope.layout, RopeLayout::kNeighbours);
}

TEST(Llama, NeighboursRotateAndFactorsAndBiasesMayBeThere) {
  const AttentionSpec attention = *layer_of(family_keys("llama")).attention();
  EXPECT_EQ(attention.rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(attention.rope.factors, Presence::kOptional);
  EXPECT_EQ(attention.rope.num_rotated, 16);
  EXPECT_EQ(attention.qkv_bias, Presence::kOptional);
  EXPECT_EQ(attention.output_bias, Presence::kOptional);
  EXPECT_EQ(std::get<DenseFfnSpec>(layer_of(family_keys("llama")).feed_forward).biases, Presence::kOptional);
  EXPECT_EQ(ModelConfig::load(family_keys("llama")).value().logit_bias, Presence::kAbsent);
}

TEST(Llama, FilesOfTheFirstModelsLeaveTheRopeBaseOut) {
  MemorySource source = family_keys("llama");
  EXPECT_EQ(layer_of(source).attention()->rope.base, 10000.0);
  source.add("llama.rope.freq_base", 500000.0F);
  EXPECT_EQ(layer_of(source).attention()->rope.base, 500000.0);
}

TEST(Llama, HeadsMayBeWiderThanTheirPartOfTheWidth) {
  MemorySource source = family_keys("llama");
  source.add("llama.attention.key_length", 32U).add("llama.attention.value_length", 32U);
  const AttentionSpec attention = *layer_of(source).attention();
  EXPECT_EQ(attention.q_width(), 128);
  EXPECT_EQ(attention.k_width(), 64);
  EXPECT_FLOAT_EQ(attention.scale, 0.17677669F);
  EXPECT_EQ(attention.rope.num_rotated, 32);
}

TEST(Llama, ValuesMayBeOfAnotherWidthThanKeys) {
  MemorySource source = family_keys("llama");
  source.add("llama.attention.key_length", 32U).add("llama.attention.value_length", 20U);
  const AttentionSpec attention = *layer_of(source).attention();
  EXPECT_EQ(attention.q_width(), 128);
  EXPECT_EQ(attention.k_width(), 64);
  EXPECT_EQ(attention.v_width(), 40);
  EXPECT_EQ(attention.result_width(), 80);
  EXPECT_EQ(attention.kv_shape()->k_dim, 32);
  EXPECT_EQ(attention.kv_shape()->v_dim, 20);
  source.add("llama.attention.value_length", 1U << 24);
  EXPECT_THAT(error_of(source), HasSubstr("their product is over"));
}

}  // namespace
}  // namespace octavo::test
