#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

TEST(Granite, ItsScalesMultiplyAndThatOfLogitsDivides) {
  MemorySource source = family_keys("granite");
  source.add("granite.embedding_scale", 12.0F).add("granite.residual_scale", 0.25F);
  source.add("granite.attention.scale", 0.015625F).add("granite.logit_scale", 16.0F);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.embedding_scale, 12.0F);
  EXPECT_EQ(config.residual_scale, 0.25F);
  EXPECT_EQ(config.logit_scale, 0.0625F);
  EXPECT_EQ(config.layer(1).attention()->scale, 0.015625F);
}

TEST(Granite, ScalesThatAreMissingOrZeroChangeNothing) {
  for (const bool is_zero : {false, true}) {
    MemorySource source = family_keys("granite");
    for (const char* suffix : {"embedding_scale", "residual_scale", "attention.scale", "logit_scale"})
      if (is_zero) source.add(std::string("granite.") + suffix, 0.0F);
    const ModelConfig config = ModelConfig::load(source).value();
    EXPECT_EQ(config.embedding_scale, 1.0F);
    EXPECT_EQ(config.residual_scale, 1.0F);
    EXPECT_EQ(config.logit_scale, 1.0F);
    EXPECT_EQ(config.layer(0).attention()->scale, 0.25F);  // of heads of 16
  }
}

TEST(Granite, AScaleMustBeANumber) {
  for (const char* key : {"granite.residual_scale", "granite.logit_scale", "granite.attention.scale"}) {
    MemorySource source = family_keys("granite");
    source.add(key, -1.0F);
    EXPECT_THAT(error_of(source), HasSubstr(std::string(key) + " is -1, expected 0 or a positive number"));
  }
}

TEST(Granite, NeighboursRotateUnlessTheFileSaysThatNothingDoes) {
  const auto rope_of = [](std::optional<bool> is_finetuned) {
    MemorySource source = family_keys("granite");
    if (is_finetuned) source.add("granite.rope.scaling.finetuned", *is_finetuned);
    return ModelConfig::load(source).value().layer(1).attention()->rope;
  };
  EXPECT_EQ(rope_of({}).num_rotated, 16);
  EXPECT_EQ(rope_of({}).layout, RopeLayout::kNeighbours);
  EXPECT_EQ(rope_of(true).num_rotated, 16);
  EXPECT_EQ(rope_of(false).num_rotated, 0);
}

TEST(Granite, AnExpertForEveryRowMayStandBesideAMixture) {
  MemorySource source = family_keys("granitemoe");
  source.add("granitemoe.expert_count", 8U).add("granitemoe.expert_used_count", 3U);
  const auto experts_of = [](const MemorySource& from) {
    return std::get<ExpertsFfnSpec>(ModelConfig::load(from).value().layer(0).feed_forward);
  };
  EXPECT_EQ(experts_of(source).num_experts, 8);
  EXPECT_EQ(experts_of(source).width, 96);
  EXPECT_EQ(experts_of(source).shared_width, 0);
  source.add("granitemoe.expert_shared_feed_forward_length", 128U);
  EXPECT_EQ(experts_of(source).shared_width, 128);
  EXPECT_FALSE(experts_of(source).shared_is_gated);
  EXPECT_FALSE(experts_of(source).shared_is_dense);
}

}  // namespace
}  // namespace octavo::test
