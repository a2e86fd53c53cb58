// Step 3.5 Flash: heads and rotations by layer, limits, and layers without a router.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

/// Layers 0 and 3 see all; the first one has no router.
MemorySource step35() {
  MemorySource source = family_keys("step35", 4);
  source.add("step35.rope.freq_base", 5e6F).add("step35.rope.freq_base_swa", 1e4F);
  source.add("step35.expert_count", 8U).add("step35.expert_used_count", 2U);
  source.add("step35.expert_feed_forward_length", 24U).add("step35.expert_shared_feed_forward_length", 40U);
  source.add("step35.attention.sliding_window", 16U).add("step35.attention.key_length", 16U);
  source.add_array("step35.attention.sliding_window_pattern", std::vector<bool>{false, true, true, false});
  source.add_array("step35.attention.head_count", std::vector<std::int32_t>{4, 6, 6, 4});
  source.add_array("step35.swiglu_clamp_exp", std::vector<float>{0, 0, 7, 0});
  source.add_array("step35.swiglu_clamp_shexp", std::vector<float>{3, 0, 16, 0});
  for (const char* layer : {"1", "2", "3"})
    source.add_tensor(std::string("blk.") + layer + ".ffn_gate_inp.weight", {64, 8}, DType::kF32,
                      std::string(64UL * 8 * 4, '\0'));
  return source;
}

TEST(Step35, LayersWithAWindowHaveHeadsAndARotationOfTheirOwn) {
  const ModelConfig config = ModelConfig::load(step35()).value();
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const bool is_windowed = i == 1 || i == 2;
    const AttentionSpec& attention = *config.layer(i).attention();
    EXPECT_EQ(attention.num_heads, is_windowed ? 6 : 4);
    EXPECT_EQ(attention.window, is_windowed ? 16 : 0);
    EXPECT_EQ(attention.rope.num_rotated, is_windowed ? attention.head_dim : attention.head_dim / 2);
    EXPECT_EQ(attention.rope.base, is_windowed ? 1e4 : 5e6);
    EXPECT_EQ(attention.rope.factors, is_windowed ? Presence::kAbsent : Presence::kOptional);
    EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
    const OutputGate gate{.function = GateFunction::kSigmoid, .is_of_heads = true};
    EXPECT_EQ(attention.output_gate, gate);
    EXPECT_EQ(attention.qk_norm, Presence::kOptional);
  }
}

TEST(Step35, LimitsAreByLayerAndThoseOfTheExpertForEveryRowAreTheDenseLayersToo) {
  const ModelConfig config = ModelConfig::load(step35()).value();
  const auto& dense = std::get<DenseFfnSpec>(config.layer(0).feed_forward);
  EXPECT_EQ(dense.width, 96);
  EXPECT_EQ(dense.limit, 3);
  EXPECT_FALSE(dense.has_factors);
  const auto& experts = std::get<ExpertsFfnSpec>(config.layer(2).feed_forward);
  EXPECT_EQ(experts.limit, 7);
  EXPECT_EQ(experts.shared_limit, 16);
  EXPECT_EQ(experts.shared_width, 40);
  EXPECT_FALSE(experts.shared_is_gated);
  const RouterSpec expected{
      .gate = RouterSpec::Gate::kSigmoid, .sums_to_one = false, .choice_bias = Presence::kOptional};
  EXPECT_EQ(experts.router, expected);
  EXPECT_EQ(std::get<ExpertsFfnSpec>(config.layer(1).feed_forward).limit, 0);
}

TEST(Step35, WhatCannotBeIsRefusedByItsKey) {
  const auto with = [](std::string_view key, const std::vector<float>& numbers) {
    MemorySource source = step35();
    source.add_array(std::string(key), numbers);
    return error_of(source);
  };
  EXPECT_THAT(with("step35.swiglu_clamp_exp", {0, 0, -1, 0}), HasSubstr("swiglu_clamp_exp is -1 for layer 2"));
  EXPECT_THAT(with("step35.swiglu_clamp_shexp", {0, 0}), HasSubstr("swiglu_clamp_shexp has 2 numbers"));
  MemorySource odd = step35();
  odd.add("step35.rope.dimension_count", 6U);
  EXPECT_THAT(error_of(odd), HasSubstr("step35.rope.dimension_count is 6, expected a multiple of 4"));
}

}  // namespace
}  // namespace octavo::test
