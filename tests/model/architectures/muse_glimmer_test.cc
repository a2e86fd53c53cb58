#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource muse_glimmer() {
  MemorySource source = family_keys("muse-glimmer", 8);
  source.add("muse-glimmer.rope.freq_base", 500000.0F).add("muse-glimmer.attention.sliding_window", 24U);
  source.add("muse-glimmer.logit_scale", 0.25F).add("muse-glimmer.final_logit_softcapping", 20.0F);
  return source;
}

TEST(MuseGlimmer, AGateOfItsOwnMultipliesAttentionsResult) {
  const ModelConfig config = ModelConfig::load(muse_glimmer()).value();
  const AttentionSpec& attention = *config.layer(0).attention();
  ASSERT_TRUE(attention.output_gate);
  EXPECT_EQ(attention.output_gate->function, GateFunction::kSigmoid);
  EXPECT_EQ(attention.gate_rows(), attention.q_width()) << "a gate for each element";
  EXPECT_FALSE(attention.gated_output) << "none lies among Q's rows";
  EXPECT_EQ(attention.qk_norm, Presence::kRequired);
}

TEST(MuseGlimmer, EachFourthLayerSeesAllAndKnowsNoPositions) {
  const ModelConfig config = ModelConfig::load(muse_glimmer()).value();
  for (int i = 0; i < 8; ++i) {
    const AttentionSpec& attention = *config.layer(i).attention();
    EXPECT_EQ(attention.window, i % 4 == 3 ? 0 : 24) << i;
    EXPECT_EQ(attention.rope.num_rotated, i % 4 == 3 ? 0 : 16) << i;
    if (i % 4 == 3) continue;
    EXPECT_EQ(attention.rope.layout, RopeLayout::kNeighbours);
    EXPECT_EQ(attention.rope.base, 500000.0);
  }
}

TEST(MuseGlimmer, EmbeddingsAreNormedAndNormsOfResultsHaveTheirEpsilon) {
  const ModelConfig config = ModelConfig::load(muse_glimmer()).value();
  EXPECT_TRUE(config.normalizes_embedding);
  EXPECT_TRUE(config.layer(1).post_norms);
  EXPECT_EQ(config.norm_epsilon, 1e-5F);
  EXPECT_EQ(config.epsilon_of_results(), 1e-8F);
}

TEST(MuseGlimmer, LogitsAreScaledAndCapped) {
  const ModelConfig config = ModelConfig::load(muse_glimmer()).value();
  EXPECT_EQ(config.logit_scale, 0.25F);
  EXPECT_EQ(config.logit_soft_cap, 20.0F);
  MemorySource unscaled = family_keys("muse-glimmer", 4);
  unscaled.add("muse-glimmer.rope.freq_base", 1e4F).add("muse-glimmer.attention.sliding_window", 24U);
  EXPECT_THAT(error_of(unscaled), HasSubstr("'muse-glimmer.logit_scale' is missing"));
}

}  // namespace
}  // namespace octavo::test
