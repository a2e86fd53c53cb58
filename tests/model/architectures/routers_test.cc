// Families whose routers choose by more than a softmax: glm4moe, mellum, ernie4_5-moe, hy_v3, qwen3next, cohere2moe,
// bailingmoe2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource mixture(const std::string& architecture, std::uint32_t layers = 4,
                     const char* epsilon = "attention.layer_norm_rms_epsilon") {
  MemorySource source = family_keys(architecture, layers, epsilon);
  source.add(architecture + ".rope.freq_base", 1e6F).add(architecture + ".expert_count", 8U);
  source.add(architecture + ".expert_used_count", 2U).add(architecture + ".expert_feed_forward_length", 24U);
  return source;
}

const ExpertsFfnSpec* experts_of(const ModelConfig& config, int layer) {
  return std::get_if<ExpertsFfnSpec>(&config.layer(layer).feed_forward);
}
int dense_width(const ModelConfig& config, int layer) {
  return std::get<DenseFfnSpec>(config.layer(layer).feed_forward).width;
}

TEST(Routers, Glm4MoesIsOfSigmoidsUnlessTheFileSaysOtherwise) {
  MemorySource source = mixture("glm4moe");
  source.add("glm4moe.leading_dense_block_count", 1U).add("glm4moe.expert_shared_count", 2U);
  source.add("glm4moe.expert_weights_scale", 1.5F).add("glm4moe.nextn_predict_layers", 1U);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.num_layers(), 3);
  EXPECT_EQ(config.num_skipped_layers, 1);
  EXPECT_EQ(dense_width(config, 0), 96);
  const ExpertsFfnSpec* experts = experts_of(config, 1);
  ASSERT_NE(experts, nullptr);
  const RouterSpec expected{.gate = RouterSpec::Gate::kSigmoid,
                            .sums_to_one = false,
                            .weights_scale = 1.5F,
                            .choice_bias = Presence::kOptional};
  EXPECT_EQ(experts->router, expected) << "weights are not normed without the key";
  EXPECT_EQ(experts->shared_width, 48);
  EXPECT_FALSE(experts->shared_is_gated);
  EXPECT_TRUE(config.layer(1).ffn_norm_is_post_attention);
  EXPECT_EQ(config.layer(1).attention()->qk_norm, Presence::kOptional);
  source.add("glm4moe.expert_gating_func", 1U).add("glm4moe.expert_weights_norm", true);
  const RouterSpec softmax = experts_of(ModelConfig::load(source).value(), 1)->router;
  EXPECT_EQ(softmax.gate, RouterSpec::Gate::kSoftmax);
  EXPECT_TRUE(softmax.sums_to_one);
}

TEST(Routers, GroupsMustFitTheExperts) {
  const auto with = [](std::uint32_t groups, std::uint32_t chosen) {
    MemorySource source = mixture("glm4moe");
    source.add("glm4moe.expert_group_count", groups).add("glm4moe.expert_group_used_count", chosen);
    return source;
  };
  const RouterSpec router = experts_of(ModelConfig::load(with(4, 2)).value(), 0)->router;
  EXPECT_EQ(router.num_groups, 4);
  EXPECT_EQ(router.num_groups_chosen, 2);
  EXPECT_EQ(experts_of(ModelConfig::load(with(1, 1)).value(), 0)->router.num_groups, 1);
  EXPECT_THAT(error_of(with(3, 2)), HasSubstr("glm4moe.expert_group_count is 3"));
  EXPECT_THAT(error_of(with(4, 0)), HasSubstr("glm4moe.expert_group_used_count is 0"));
  EXPECT_THAT(error_of(with(4, 5)), HasSubstr("glm4moe.expert_group_used_count is 5"));
  EXPECT_THAT(error_of(with(8, 1)), HasSubstr("the 2 that a row meets"));
  EXPECT_THAT(error_of(with(65, 1)), HasSubstr("glm4moe.expert_group_count is 65"));
}

TEST(Routers, AnotherGateIsRefusedByItsKey) {
  for (const unsigned gate : {3U, 4U, 9U}) {
    MemorySource source = mixture("hy_v3");
    source.add("hy_v3.expert_gating_func", gate);
    EXPECT_THAT(error_of(source), HasSubstr("hy_v3.expert_gating_func is " + std::to_string(gate)));
  }
}

TEST(Routers, MellumsWindowedLayersRotateWithoutTheStretch) {
  MemorySource source = mixture("mellum");
  source.add("mellum.attention.sliding_window", 16U).add("mellum.rope.scaling.type", "yarn");
  source.add("mellum.rope.scaling.factor", 4.0F).add("mellum.rope.scaling.original_context_length", 128U);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    EXPECT_EQ(attention.window, i == 3 ? 0 : 16);
    EXPECT_EQ(attention.rope.scaling.yarn.has_value(), i == 3);
    EXPECT_EQ(attention.qk_norm, Presence::kRequired);
    EXPECT_EQ(experts_of(config, i)->router, RouterSpec());
  }
}

TEST(Routers, ErniesMixturesStandBetweenDenseLayers) {
  MemorySource source = mixture("ernie4_5-moe", 6);
  source.add("ernie4_5-moe.leading_dense_block_count", 2U).add("ernie4_5-moe.interleave_moe_layer_step", 2U);
  source.add("ernie4_5-moe.expert_shared_feed_forward_length", 40U);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(experts_of(config, i) != nullptr, i == 3 || i == 5) << i;
  EXPECT_EQ(experts_of(config, 3)->shared_width, 40);
  EXPECT_EQ(experts_of(config, 3)->router, RouterSpec({.choice_bias = Presence::kOptional}));
  EXPECT_EQ(config.layer(0).attention()->rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(config.layer(0).attention()->output_bias, Presence::kOptional);
}

TEST(Routers, LayersOfHunyuan3WithoutARouterAreDense) {
  MemorySource source = mixture("hy_v3");
  source.add_tensor("blk.2.ffn_gate_inp.weight", {64, 8}, DType::kF32, std::string(64UL * 8 * 4, '\0'));
  source.add_tensor("blk.2.ffn_gate_shexp.weight", {64, 24}, DType::kF32, std::string(64UL * 24 * 4, '\0'));
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(experts_of(config, i) != nullptr, i == 2) << i;
  EXPECT_EQ(experts_of(config, 2)->shared_width, 24) << "as wide as another expert";
  EXPECT_TRUE(experts_of(config, 2)->router.choice_bias_is_bare);
}

TEST(Routers, ValueHeadsOfQwen3NextLieByKeyHead) {
  MemorySource source = mixture("qwen3next");
  source.add("qwen3next.expert_shared_feed_forward_length", 40U).add("qwen3next.ssm.conv_kernel", 4U);
  source.add("qwen3next.ssm.group_count", 2U).add("qwen3next.ssm.time_step_rank", 6U);
  source.add("qwen3next.ssm.state_size", 8U).add("qwen3next.ssm.inner_size", 48U);
  const ModelConfig config = ModelConfig::load(source).value();
  const DeltaSpec& delta = *config.layer(0).delta();
  EXPECT_EQ(delta.key_head(2), 0);
  EXPECT_EQ(delta.key_head(3), 1);
  EXPECT_EQ(delta.decay_rows(), 12);
  EXPECT_TRUE(config.layer(3).attention()->gated_output);
  EXPECT_FALSE(config.layer(3).attention()->rope.sections.has_value());
  EXPECT_TRUE(experts_of(config, 0)->shared_is_gated);
  EXPECT_TRUE(experts_of(config, 0)->router.sums_to_one);
}

MemorySource north(const char* epsilon = "attention.layer_norm_rms_epsilon") {
  MemorySource source = mixture("cohere2moe", 6, epsilon);
  source.add("cohere2moe.logit_scale", 0.25F).add("cohere2moe.attention.sliding_window", 16U);
  source.add("cohere2moe.leading_dense_block_count", 1U).add("cohere2moe.expert_shared_feed_forward_length", 48U);
  source.add("cohere2moe.expert_shared_count", 2U).add("cohere2moe.expert_weights_norm", true);
  return source;
}

TEST(Routers, Cohere2MoesFeedForwardIsTheMeanOfTwoAndReadsWhatAttentionReads) {
  MemorySource source = north();
  source.add("cohere2moe.nextn_predict_layers", 1U);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.num_layers(), 5);
  EXPECT_EQ(config.num_skipped_layers, 1);
  EXPECT_EQ(config.logit_scale, 0.25F);
  EXPECT_EQ(dense_width(config, 0), 96);
  for (int i = 0; i < 5; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    EXPECT_TRUE(config.layer(i).is_parallel);
    EXPECT_EQ(attention.window, i % 4 == 0 ? 0 : 16) << i;
    EXPECT_EQ(attention.rope.num_rotated, i == 4 ? 0 : 16) << i << ": the dense layer in front is rotated";
    EXPECT_EQ(attention.rope.layout == RopeLayout::kNeighbours, i != 4) << i;
  }
  const ExpertsFfnSpec* experts = experts_of(config, 1);
  EXPECT_EQ(experts->router, RouterSpec({.gate = RouterSpec::Gate::kSigmoid}));
  EXPECT_EQ(experts->shared_width, 48);
  EXPECT_EQ(experts->sum_scale, 0.5F);
  EXPECT_TRUE(experts->has_factors);
}

TEST(Routers, Cohere2MoeHasTheNormWhoseEpsilonIsThere) {
  EXPECT_EQ(ModelConfig::load(north()).value().norm, NormKind::kRms);
  EXPECT_EQ(ModelConfig::load(north("attention.layer_norm_epsilon")).value().norm, NormKind::kLayer);
  EXPECT_THAT(error_of(north("attention.other_epsilon")),
              HasSubstr("'cohere2moe.attention.layer_norm_epsilon' is missing"));
  EXPECT_THAT(error_of(mixture("cohere2moe")), HasSubstr("'cohere2moe.logit_scale' is missing"));
}

TEST(Routers, WithoutAnExpertForEveryRowTheMixtureAloneIsTheResult) {
  MemorySource source = mixture("cohere2moe");
  source.add("cohere2moe.logit_scale", 0.25F).add("cohere2moe.attention.sliding_window", 16U);
  const ExpertsFfnSpec experts = *experts_of(ModelConfig::load(source).value(), 1);
  EXPECT_EQ(experts.shared_width, 0);
  EXPECT_EQ(experts.sum_scale, 1);
  EXPECT_FALSE(experts.router.sums_to_one) << "without the key";
}

TEST(Routers, Bailingmoe2SaysHowItsRouterChooses) {
  MemorySource source = mixture("bailingmoe2");
  source.add("bailingmoe2.rope.dimension_count", 8U);
  EXPECT_THAT(error_of(source), HasSubstr("'bailingmoe2.expert_gating_func' is missing"));
  source.add("bailingmoe2.expert_gating_func", 2U).add("bailingmoe2.expert_shared_feed_forward_length", 24U);
  source.add("bailingmoe2.expert_shared_count", 1U).add("bailingmoe2.leading_dense_block_count", 1U);
  source.add("bailingmoe2.expert_group_count", 4U).add("bailingmoe2.expert_group_used_count", 2U);
  source.add("bailingmoe2.expert_weights_norm", true).add("bailingmoe2.expert_weights_scale", 2.5F);
  source.add("bailingmoe2.nextn_predict_layers", 1U);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.num_layers(), 3);
  EXPECT_EQ(dense_width(config, 0), 96);
  const RouterSpec expected{.gate = RouterSpec::Gate::kSigmoid,
                            .weights_scale = 2.5F,
                            .choice_bias = Presence::kOptional,
                            .num_groups = 4,
                            .num_groups_chosen = 2};
  EXPECT_EQ(experts_of(config, 1)->router, expected);
  EXPECT_EQ(experts_of(config, 1)->shared_width, 24);
  const AttentionSpec& attention = *config.layer(1).attention();
  EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
  EXPECT_EQ(attention.rope.num_rotated, 8);
  EXPECT_EQ(attention.qk_norm, Presence::kRequired);
  EXPECT_FALSE(attention.qk_norm_after_rope);
}

TEST(Routers, ASharedExpertOfNoWidthIsAsWideAsTheCountSays) {
  MemorySource source = mixture("glm4moe");
  source.add("glm4moe.expert_shared_feed_forward_length", 0U);
  EXPECT_EQ(experts_of(ModelConfig::load(source).value(), 1)->shared_width, 0);
  source.add("glm4moe.expert_shared_count", 2U);
  EXPECT_EQ(experts_of(ModelConfig::load(source).value(), 1)->shared_width, 48) << "llama.cpp writes the 0";
}

TEST(Routers, NumbersBesideMatricesMultiplyWhereLlamaCppDoes) {
  for (const std::string architecture : {"glm4moe", "ernie4_5-moe", "hy_v3", "mellum", "bailingmoe2"}) {
    MemorySource source = mixture(architecture);
    if (architecture == "bailingmoe2") source.add("bailingmoe2.expert_gating_func", 2U);
    if (architecture != "hy_v3" && architecture != "mellum")
      source.add(architecture + ".leading_dense_block_count", 1U);
    source.add_tensor("blk.3.ffn_gate_inp.weight", {64, 8}, DType::kF32, std::string(64UL * 8 * 4, '\0'));
    const ModelConfig config = ModelConfig::load(source).value();
    const bool multiply = architecture == "hy_v3" || architecture == "mellum";
    EXPECT_EQ(experts_of(config, 3)->has_factors, multiply) << architecture;
    const auto* dense = std::get_if<DenseFfnSpec>(&config.layer(0).feed_forward);
    ASSERT_EQ(dense == nullptr, architecture == "mellum");
    EXPECT_TRUE(dense == nullptr || dense->has_factors == multiply) << architecture;
  }
}

}  // namespace
}  // namespace octavo::test
