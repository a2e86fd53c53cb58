#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource spark() {
  MemorySource source = family_keys("spark2_5", 4);
  source.add("spark2_5.attention.key_length", 16U).add("spark2_5.rope.freq_base", 5e6F);
  source.add("spark2_5.rope.dimension_count", 4U).add("spark2_5.rope.freq_base_swa", 1e4F);
  source.add("spark2_5.rope.dimension_count_swa", 16U).add("spark2_5.attention.sliding_window", 32U);
  source.add_array("spark2_5.attention.sliding_window_pattern", std::vector{true, true, true, false});
  return source;
}

TEST(Spark, HeadsHaveAGateAndWindowedLayersARotationOfTheirOwn) {
  const ModelConfig config = ModelConfig::load(spark()).value();
  for (int i = 0; i < 4; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    const bool is_global = i == 3;
    EXPECT_EQ(attention.window, is_global ? 0 : 32) << i;
    EXPECT_EQ(attention.rope.base, is_global ? 5e6 : 1e4) << i;
    EXPECT_EQ(attention.rope.num_rotated, is_global ? 4 : 16) << i;
    EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
    EXPECT_EQ(attention.qk_norm, Presence::kAbsent);
    EXPECT_EQ(attention.output_gate, (OutputGate{.function = GateFunction::kSigmoid, .is_of_heads = true}));
    const auto& dense = std::get<DenseFfnSpec>(config.layer(i).feed_forward);
    EXPECT_EQ(dense.activation, Activation::kGelu);
    EXPECT_EQ(dense.width, 96);
    EXPECT_FALSE(dense.has_factors);
  }
}

TEST(Spark, LayersMayHaveOtherHeadsAndKeepTheStretch) {
  MemorySource source = spark();
  source.add_array("spark2_5.attention.head_count", std::vector<std::int32_t>{4, 8, 4, 4});
  source.add_array("spark2_5.attention.head_count_kv", std::vector<std::int32_t>{2, 4, 2, 1});
  source.add("spark2_5.rope.scaling.type", "linear").add("spark2_5.rope.scaling.factor", 4.0F);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.layer(1).attention()->num_heads, 8);
  EXPECT_EQ(config.layer(1).attention()->num_kv_heads, 4);
  EXPECT_EQ(config.layer(1).attention()->gate_rows(), 8);
  EXPECT_EQ(config.layer(3).attention()->num_kv_heads, 1);
  for (const LayerSpec& layer : config.layers) EXPECT_EQ(layer.attention()->rope.scaling.divisor, 4);
}

TEST(Spark, TheWindowAndItsPatternMustBeThere) {
  MemorySource source = family_keys("spark2_5");
  source.add("spark2_5.rope.freq_base", 5e6F);
  EXPECT_THAT(error_of(source), HasSubstr("'spark2_5.attention.sliding_window' is missing"));
  source.add("spark2_5.attention.sliding_window", 32U);
  EXPECT_THAT(error_of(source), HasSubstr("'spark2_5.attention.sliding_window_pattern' is missing"));
}

}  // namespace
}  // namespace octavo::test
