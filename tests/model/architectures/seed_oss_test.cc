#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

TEST(SeedOss, TheNormOfTheFeedForwardIsCalledPostAttention) {
  const ModelConfig config = ModelConfig::load(family_keys("seed_oss").add("seed_oss.rope.freq_base", 1e7F)).value();
  EXPECT_TRUE(config.layer(1).ffn_norm_is_post_attention);
  EXPECT_EQ(config.layer(1).attention()->qkv_bias, Presence::kOptional);
  EXPECT_EQ(config.layer(1).attention()->rope.layout, RopeLayout::kHalves);
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(1).feed_forward).width, 96);
}

}  // namespace
}  // namespace octavo::test
