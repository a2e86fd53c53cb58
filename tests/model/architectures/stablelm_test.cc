#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

MemorySource stablelm() {
  MemorySource source = family_keys("stablelm");
  source.add("stablelm.rope.freq_base", 1e4F).add("stablelm.attention.layer_norm_epsilon", 1e-5F);
  source.add("stablelm.rope.dimension_count", 4U);
  return source;
}

TEST(Stablelm, NormsAreLayerNormWithBiasesAndAPartOfEachHeadIsRotated) {
  MemorySource source = stablelm();
  source.add_tensor("blk.0.ffn_norm.weight", {64}, DType::kF32, std::string(256, '\0'));
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.norm, NormKind::kLayer);
  EXPECT_EQ(config.output_norm_bias, Presence::kRequired);
  EXPECT_EQ(config.layer(1).norm_biases, Presence::kRequired);
  EXPECT_EQ(config.layer(1).attention()->rope.num_rotated, 4);
  EXPECT_FALSE(config.layer(1).is_parallel);
}

TEST(Stablelm, WithoutANormOfItsOwnTheFeedForwardReadsWhatAttentionReads) {
  const ModelConfig config = ModelConfig::load(stablelm()).value();
  EXPECT_TRUE(config.layer(1).is_parallel);
  EXPECT_TRUE(config.layer(1).attention()->qk_norm_by_head);
  EXPECT_EQ(config.layer(1).attention()->qk_norm, Presence::kOptional);
}

}  // namespace
}  // namespace octavo::test
