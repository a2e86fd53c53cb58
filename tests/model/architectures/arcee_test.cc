#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

TEST(Arcee, ItsFeedForwardHasNoGateAndSquaresWhatIsPositive) {
  MemorySource source = family_keys("arcee");
  source.add("arcee.rope.freq_base", 500000.0F);
  const ModelConfig config = ModelConfig::load(source).value();
  const auto& dense = std::get<DenseFfnSpec>(config.layer(1).feed_forward);
  EXPECT_EQ(dense.width, 96);
  EXPECT_FALSE(dense.is_gated);
  EXPECT_EQ(dense.activation, Activation::kSquaredRelu);
  EXPECT_EQ(config.layer(1).attention()->rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(config.layer(1).attention()->rope.base, 500000.0);
}

}  // namespace
}  // namespace octavo::test
