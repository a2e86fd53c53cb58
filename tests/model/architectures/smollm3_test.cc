#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

TEST(Smollm3, EveryFourthLayerHasNoRotaryPositions) {
  MemorySource source = family_keys("smollm3", 9);
  source.add("smollm3.rope.freq_base", 5000000.0F);
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 9; ++i) {
    const RopeSpec& rope = config.layer(i).attention()->rope;
    EXPECT_EQ(rope.num_rotated, i == 3 || i == 7 ? 0 : 16) << i;
    if (rope.num_rotated == 0) continue;
    EXPECT_EQ(rope.base, 5000000.0);
    EXPECT_EQ(rope.layout, RopeLayout::kNeighbours);
  }
}

TEST(Smollm3, TheRotationsBaseMustBeThere) {
  EXPECT_THAT(error_of(family_keys("smollm3")), testing::HasSubstr("smollm3.rope.freq_base' is missing"));
}

}  // namespace
}  // namespace octavo::test
