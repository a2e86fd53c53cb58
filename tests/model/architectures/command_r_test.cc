#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource cohere_keys(const std::string& architecture) {
  MemorySource source = family_keys(architecture, 4);
  source.add(architecture + ".rope.freq_base", 1e4F).add(architecture + ".logit_scale", 0.0625F);
  source.add(architecture + ".attention.layer_norm_epsilon", 1e-5F);
  return source;
}

TEST(CommandR, TheFeedForwardReadsWhatAttentionReads) {
  const ModelConfig config = ModelConfig::load(cohere_keys("command-r")).value();
  EXPECT_EQ(config.norm, NormKind::kLayer);
  EXPECT_FLOAT_EQ(config.logit_scale, 0.0625F);
  EXPECT_TRUE(config.layer(3).is_parallel);
  EXPECT_EQ(config.layer(3).attention()->rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(config.layer(3).attention()->rope.num_rotated, 16);
  EXPECT_EQ(config.layer(3).attention()->window, 0);
  EXPECT_EQ(config.layer(3).attention()->qk_norm, Presence::kOptional);
  EXPECT_EQ(config.layer(3).attention()->num_q_norms(), 4);
  EXPECT_EQ(config.layer(3).attention()->num_k_norms(), 2);
}

TEST(CommandR, BesideWindowsLayersThatSeeAllKnowNoPositions) {
  const ModelConfig config =
      ModelConfig::load(cohere_keys("cohere2").add("cohere2.attention.sliding_window", 8U)).value();
  EXPECT_EQ(config.layer(2).attention()->window, 8);
  EXPECT_EQ(config.layer(2).attention()->rope.num_rotated, 16);
  EXPECT_EQ(config.layer(3).attention()->window, 0);
  EXPECT_EQ(config.layer(3).attention()->rope.num_rotated, 0);
}

TEST(CommandR, TheScaleOfLogitsAndTheWindowMustBeThere) {
  EXPECT_THAT(error_of(family_keys("command-r").add("command-r.rope.freq_base", 1e4F)),
              HasSubstr("command-r.logit_scale"));
  EXPECT_THAT(error_of(cohere_keys("cohere2")), HasSubstr("cohere2.attention.sliding_window"));
}

}  // namespace
}  // namespace octavo::test
