#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

TEST(Ernie45, NeighboursRotateAndEveryMatrixMayHaveABias) {
  const ModelConfig config = ModelConfig::load(family_keys("ernie4_5").add("ernie4_5.rope.freq_base", 5e5F)).value();
  const AttentionSpec& attention = *config.layer(0).attention();
  EXPECT_EQ(attention.rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(attention.qkv_bias, Presence::kOptional);
  EXPECT_EQ(attention.output_bias, Presence::kOptional);
  EXPECT_EQ(std::get<DenseFfnSpec>(config.layer(0).feed_forward).biases, Presence::kOptional);
}

}  // namespace
}  // namespace octavo::test
