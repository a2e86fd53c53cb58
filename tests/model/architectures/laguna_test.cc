#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource laguna(std::uint32_t layers = 6) {
  MemorySource source = family_keys("laguna", layers);
  source.add("laguna.attention.key_length", 16U).add("laguna.attention.value_length", 16U);
  source.add("laguna.rope.freq_base", 5e5F).add("laguna.rope.dimension_count", 8U);
  source.add("laguna.expert_count", 8U).add("laguna.expert_used_count", 2U);
  source.add("laguna.expert_feed_forward_length", 24U).add("laguna.expert_shared_feed_forward_length", 40U);
  source.add("laguna.expert_weights_norm", true).add("laguna.expert_weights_scale", 2.5F);
  source.add("laguna.leading_dense_block_count", 1U);
  return source;
}

MemorySource with_windows() {
  MemorySource source = laguna();
  source.add_array("laguna.attention.head_count", std::vector<std::int32_t>{4, 6, 6, 6, 4, 6});
  source.add("laguna.attention.sliding_window", 32U).add("laguna.rope.freq_base_swa", 1e4F);
  source.add("laguna.rope.dimension_count_swa", 16U).add("laguna.rope.scaling.type", "yarn");
  source.add("laguna.rope.scaling.factor", 4.0F).add("laguna.rope.scaling.original_context_length", 128U);
  return source;
}

TEST(Laguna, TheFirstOfEachFourLayersSeesAllAndTheOthersHaveMoreHeads) {
  const ModelConfig config = ModelConfig::load(with_windows()).value();
  for (int i = 0; i < 6; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    const bool is_global = i % 4 == 0;
    EXPECT_EQ(attention.window, is_global ? 0 : 32) << i;
    EXPECT_EQ(attention.num_heads, is_global ? 4 : 6) << i;
    EXPECT_EQ(attention.num_kv_heads, 2);
    EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
    EXPECT_EQ(attention.rope.base, is_global ? 5e5 : 1e4) << i;
    EXPECT_EQ(attention.rope.num_rotated, is_global ? 8 : 16) << i;
    EXPECT_EQ(attention.rope.scaling.yarn.has_value(), is_global) << i;
    EXPECT_EQ(attention.rope.scaling.magnitude == 1, !is_global) << i;
    EXPECT_EQ(attention.qk_norm, Presence::kRequired);
  }
}

TEST(Laguna, APatternMayNameOtherLayers) {
  MemorySource source = with_windows();
  source.add("laguna.attention.sliding_window_pattern", 3U);
  const ModelConfig by_number = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(by_number.layer(i).attention()->window, i % 3 == 0 ? 0 : 32) << i;
  source.add_array("laguna.attention.sliding_window_pattern", std::vector{true, false, true, true, true, true});
  const ModelConfig by_flags = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(by_flags.layer(i).attention()->window, i == 1 ? 0 : 32) << i;
}

TEST(Laguna, WithoutAWindowAllLayersSeeAll) {
  MemorySource source = laguna();
  EXPECT_EQ(ModelConfig::load(source).value().layer(1).attention()->window, 0);
  source.add("laguna.attention.sliding_window", 0U);
  const ModelConfig config = ModelConfig::load(source).value();
  for (const LayerSpec& layer : config.layers) {
    EXPECT_EQ(layer.attention()->window, 0);
    EXPECT_EQ(layer.attention()->rope.num_rotated, 8);
  }
}

TEST(Laguna, TheGatesRowsTellWhatANumberOfItMultiplies) {
  MemorySource source = laguna();
  source.add_tensor("blk.1.attn_gate.weight", {64, 64}, DType::kF32, std::string(64UL * 64 * 4, '\0'));
  source.add_tensor("blk.2.attn_gate.weight", {64, 4}, DType::kF32, std::string(64UL * 4 * 4, '\0'));
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 1; i <= 2; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    ASSERT_TRUE(attention.output_gate);
    EXPECT_EQ(attention.output_gate->function, GateFunction::kSoftplus);
    EXPECT_EQ(attention.output_gate->is_of_heads, i == 2);
    EXPECT_EQ(attention.gate_rows(), i == 2 ? 4 : 64);
  }
}

TEST(Laguna, MixturesLieBehindDenseLayers) {
  MemorySource source = laguna();
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(0).feed_forward).width, 96);
  const auto& experts = std::get<ExpertsFfnSpec>(config.layer(1).feed_forward);
  const RouterSpec expected{
      .gate = RouterSpec::Gate::kSigmoid, .weights_scale = 2.5F, .choice_bias = Presence::kRequired};
  EXPECT_EQ(experts.router, expected);
  EXPECT_EQ(experts.width, 24);
  EXPECT_EQ(experts.shared_width, 40);
  EXPECT_FALSE(experts.shared_is_gated);
  EXPECT_EQ(experts.sum_scale, 1);
  EXPECT_FALSE(experts.has_factors);
  source.add("laguna.expert_weights_norm", false).add("laguna.expert_gating_func", 1U);
  const RouterSpec other = std::get<ExpertsFfnSpec>(ModelConfig::load(source).value().layer(1).feed_forward).router;
  EXPECT_FALSE(other.sums_to_one);
  EXPECT_EQ(other.gate, RouterSpec::Gate::kSoftmax);
}

TEST(Laguna, WrongKeysAreErrors) {
  MemorySource heads = with_windows();
  heads.add_array("laguna.attention.head_count", std::vector<std::int32_t>{4, 6});
  EXPECT_THAT(error_of(heads), HasSubstr("laguna.attention.head_count has 2 numbers"));
  heads.add_array("laguna.attention.head_count", std::vector<std::int32_t>{4, 6, 6, 6, 4, 5});
  EXPECT_THAT(error_of(heads), HasSubstr("laguna.attention.head_count is 5, not a multiple of"));
  MemorySource rotated = with_windows();
  rotated.add("laguna.rope.dimension_count_swa", 18U);
  EXPECT_THAT(error_of(rotated), HasSubstr("laguna.rope.dimension_count_swa is 18"));
  MemorySource scaled = laguna();
  scaled.add("laguna.logit_scale", 2.0F);
  EXPECT_THAT(error_of(scaled), HasSubstr("laguna.logit_scale is 2, expected 1"));
}

}  // namespace
}  // namespace octavo::test
