#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource qwen35_keys(std::uint32_t layers = 8) {
  MemorySource source = family_keys("qwen35", layers);
  source.add("qwen35.rope.freq_base", 1e7F).add("qwen35.rope.dimension_count", 4U);
  source.add_array<std::int32_t>("qwen35.rope.dimension_sections", {1, 1, 0, 0});
  source.add("qwen35.ssm.group_count", 2U).add("qwen35.ssm.time_step_rank", 6U).add("qwen35.ssm.state_size", 16U);
  source.add("qwen35.ssm.inner_size", 72U).add("qwen35.ssm.conv_kernel", 4U);
  return source;
}

TEST(Qwen35, EveryFourthLayerAttendsAndTheOthersAreRecurrent) {
  const ModelConfig config = ModelConfig::load(qwen35_keys()).value();
  ASSERT_EQ(config.num_layers(), 8);
  const DeltaSpec expected{.num_key_heads = 2, .num_value_heads = 6, .key_dim = 16, .value_dim = 12, .taps = 4};
  for (int i = 0; i < 8; ++i) {
    const LayerSpec& layer = config.layer(i);
    EXPECT_TRUE(layer.writes_state());
    EXPECT_TRUE(layer.ffn_norm_is_post_attention);
    EXPECT_EQ(layer.attention() != nullptr, i % 4 == 3) << i;
    if (layer.delta() != nullptr) {
      EXPECT_EQ(*layer.delta(), expected) << i;
    }
  }
  const AttentionSpec& attention = *config.layer(3).attention();
  EXPECT_TRUE(attention.gated_output);
  EXPECT_EQ(attention.q_rows(), 2 * 64);
  EXPECT_EQ(attention.qk_norm, Presence::kRequired);
  EXPECT_EQ(attention.rope.num_rotated, 4);
  EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
}

TEST(Qwen35, AFileMaySayWhichLayersAttend) {
  MemorySource source = qwen35_keys(6);
  source.add("qwen35.full_attention_interval", 3U);
  const ModelConfig every_third = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(every_third.layer(i).delta() == nullptr, i % 3 == 2) << i;
  source.add_array("qwen35.attention.recurrent_layers", std::vector{false, true, true, true, true, false});
  const ModelConfig first_and_last = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(first_and_last.layer(i).delta() == nullptr, i == 0 || i == 5) << i;
}

TEST(Qwen35, LayersOfPredictionAreSkippedOrADraftHead) {
  MemorySource source = qwen35_keys(5);
  source.add("qwen35.nextn_predict_layers", 1U);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.num_layers(), 4);
  EXPECT_EQ(config.num_skipped_layers, 1);
  EXPECT_FALSE(config.has_draft_head);
  ModelConfig with_head = config;
  with_head.add_draft_head();
  EXPECT_EQ(with_head.num_layers(), 4);
  ASSERT_EQ(with_head.layers.size(), 5U);
  EXPECT_TRUE(with_head.layer(4).attention()->gated_output) << "it attends, whatever the others do";
  EXPECT_EQ(with_head.last_layer_with_state(), 4);
  MemorySource two = qwen35_keys(6);
  two.add("qwen35.nextn_predict_layers", 2U);
  EXPECT_FALSE(ModelConfig::load(two).value().prediction_layer) << "a head has one layer";
  source.add("qwen35.nextn_predict_layers", 5U);
  EXPECT_THAT(error_of(source), HasSubstr("qwen35.nextn_predict_layers is 5, expected less than"));
}

TEST(Qwen35, ShapesThatDoNotFitAreRefused) {
  const auto error_with = [](const char* key, std::uint32_t value) {
    MemorySource source = qwen35_keys();
    source.add(std::string("qwen35.") + key, value);
    return error_of(source);
  };
  EXPECT_THAT(error_with("ssm.conv_kernel", 9), HasSubstr("qwen35.ssm.conv_kernel is 9, expected 2 to 8"));
  EXPECT_THAT(error_with("ssm.conv_kernel", 1), HasSubstr("expected 2 to 8"));
  EXPECT_THAT(error_with("ssm.time_step_rank", 5), HasSubstr("qwen35.ssm.time_step_rank is 5, not a multiple of"));
  EXPECT_THAT(error_with("ssm.inner_size", 73), HasSubstr("qwen35.ssm.inner_size is 73, not a multiple of"));
  EXPECT_THAT(error_with("ssm.inner_size", 6 * 1025), HasSubstr("heads of 1025 dimensions, expected at most 1024"));
  EXPECT_THAT(error_with("ssm.state_size", 1025), HasSubstr("heads of 1025 dimensions, expected at most 1024"));
  EXPECT_THAT(error_with("ssm.state_size", 0), HasSubstr("qwen35.ssm.state_size is 0"));
  EXPECT_THAT(error_with("full_attention_interval", 9), HasSubstr("all 8 layers are recurrent"));
  MemorySource many = qwen35_keys();
  many.add("qwen35.ssm.group_count", 1U << 14).add("qwen35.ssm.time_step_rank", 1U << 14);
  many.add("qwen35.ssm.inner_size", 1U << 14).add("qwen35.ssm.state_size", 1024U);
  EXPECT_THAT(error_of(many), HasSubstr("channels"));
}

TEST(Qwen35, FlagsMustBeAsManyAsLayers) {
  MemorySource source = qwen35_keys();
  source.add_array("qwen35.attention.recurrent_layers", std::vector{true, false});
  EXPECT_THAT(error_of(source),
              HasSubstr("qwen35.attention.recurrent_layers has 2 flags, expected one for each of the 8"));
  source.add("qwen35.attention.recurrent_layers", 3U);
  EXPECT_THAT(error_of(source), HasSubstr("qwen35.attention.recurrent_layers is uint32 3, expected 0 or 1 for all"));
}

// The form in which llama.cpp writes them; a flag of all layers alike becomes one.
TEST(Qwen35, FlagsMayBeIntegersOrOneOfAllLayers) {
  MemorySource source = qwen35_keys(4);
  source.add_array("qwen35.attention.recurrent_layers", std::vector<std::uint32_t>{1, 0, 1, 0});
  const ModelConfig every_second = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(every_second.layer(i).delta() == nullptr, i % 2 == 1) << i;
  source.add("qwen35.attention.recurrent_layers", 0U);
  const ModelConfig none = ModelConfig::load(source).value();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(none.layer(i).delta(), nullptr) << i;
  source.add("qwen35.attention.recurrent_layers", true);
  EXPECT_THAT(error_of(source), HasSubstr("all 4 layers are recurrent"));
}

TEST(Qwen35, NothingOfTheRecurrenceHasADefault) {
  MemorySource source = family_keys("qwen35");
  source.add("qwen35.rope.freq_base", 1e7F);
  EXPECT_THAT(error_of(source), HasSubstr("'qwen35.ssm.group_count' is missing"));
}

}  // namespace
}  // namespace octavo::test
