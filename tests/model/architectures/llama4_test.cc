// Llama 4: chunks and layers that see all, mixtures between dense layers, and what files leave out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource llama4(std::uint32_t experts = 16) {
  MemorySource source = family_keys("llama4", 4);
  source.add("llama4.rope.freq_base", 500000.0F).add("llama4.expert_count", experts);
  source.add("llama4.expert_used_count", 1U).add("llama4.expert_feed_forward_length", 24U);
  source.add("llama4.interleave_moe_layer_step", 2U);
  return source;
}

const AttentionSpec& attention_of(const ModelConfig& config, int layer) { return *config.layer(layer).attention(); }

TEST(Llama4, ThreeOfFourLayersSeeChunksAndTheFourthAllWithoutPositions) {
  const ModelConfig config = ModelConfig::load(llama4()).value();
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const AttentionSpec& attention = attention_of(config, i);
    EXPECT_EQ(attention.window, i == 3 ? 0 : 8192);
    EXPECT_EQ(attention.is_chunked, i != 3);
    EXPECT_EQ(attention.rope.num_rotated, i == 3 ? 0 : attention.head_dim);
    EXPECT_EQ(attention.qk_norm_is_plain, i != 3);
    EXPECT_EQ(attention.qk_norm_after_rope, i != 3);
    const std::optional<AttentionTemperature> grows = AttentionTemperature{.slope = 0.1, .length = 8192, .offset = 1};
    EXPECT_EQ(attention.temperature, i == 3 ? grows : std::nullopt);
  }
  EXPECT_EQ(attention_of(config, 0).rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(attention_of(config, 0).rope.factors, Presence::kOptional);
}

TEST(Llama4, MixturesStandBetweenDenseLayersAndTheirWeightsMultiplyInputs) {
  const ModelConfig config = ModelConfig::load(llama4()).value();
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(0).feed_forward).width, 96);
  EXPECT_FALSE(std::get<DenseFfnSpec>(config.layer(0).feed_forward).has_factors);
  const auto& experts = std::get<ExpertsFfnSpec>(config.layer(1).feed_forward);
  EXPECT_TRUE(experts.weighs_inputs);
  EXPECT_EQ(experts.router, RouterSpec({.gate = RouterSpec::Gate::kSigmoid, .sums_to_one = false}));
  EXPECT_EQ(experts.shared_width, 24) << "as wide as another expert";
  EXPECT_FALSE(experts.shared_is_gated);
  EXPECT_FALSE(experts.has_factors);
}

TEST(Llama4, TheFileMayNameChunksAndScoresThatGrow) {
  MemorySource source = llama4();
  source.add("llama4.attention.chunk_size", 32U).add("llama4.attention.temperature_scale", 0.25F);
  source.add("llama4.attention.temperature_length", 16U).add("llama4.rope.freq_base_swa", 1e4F);
  source.add("llama4.attention.sliding_window_pattern", 2U);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(attention_of(config, 0).window, 32);
  EXPECT_EQ(attention_of(config, 0).rope.base, 1e4);
  EXPECT_EQ(attention_of(config, 1).window, 0);
  EXPECT_EQ(attention_of(config, 1).temperature, (AttentionTemperature{.slope = 0.25, .length = 16, .offset = 1}));
  source.add("llama4.attention.temperature_scale", 0.0F);
  EXPECT_EQ(attention_of(ModelConfig::load(source).value(), 1).temperature, std::nullopt);
}

TEST(Llama4, HeadsOfTheModelWithMostExpertsHaveNoNorms) {
  EXPECT_FALSE(attention_of(ModelConfig::load(llama4(128)).value(), 0).qk_norm_is_plain);
  MemorySource source = llama4();
  source.add("llama4.use_qk_norm", false);
  EXPECT_FALSE(attention_of(ModelConfig::load(source).value(), 0).qk_norm_is_plain);
}

TEST(Llama4, AModelWithoutChunksIsRefused) {
  MemorySource source = llama4();
  source.add("llama4.attention.sliding_window", 0U);
  EXPECT_THAT(error_of(source), HasSubstr("llama4.attention.sliding_window is 0"));
}

}  // namespace
}  // namespace octavo::test
