#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

MemorySource glm_keys() {
  MemorySource source = family_keys("glm4");
  source.add("glm4.rope.freq_base", 1e4F).add("glm4.rope.dimension_count", 8U);
  return source;
}

TEST(Glm4, NormsStandOnBothSidesAndAPartOfAHeadRotates) {
  const ModelConfig config = ModelConfig::load(glm_keys()).value();
  const LayerSpec& layer = config.layer(0);
  EXPECT_TRUE(layer.post_norms);
  EXPECT_EQ(layer.mixer_norm, Presence::kRequired);
  EXPECT_EQ(layer.ffn_norm, Presence::kRequired);
  EXPECT_EQ(layer.attention()->rope.layout, RopeLayout::kNeighbours);
  EXPECT_EQ(layer.attention()->rope.num_rotated, 8);
  EXPECT_TRUE(std::get<DenseFfnSpec>(layer.feed_forward).gate_in_up);
}

TEST(Glm4, HalvesRotateInModelsThatReadPictures) {
  MemorySource source = glm_keys();
  source.add_array("glm4.rope.dimension_sections", std::vector<std::int32_t>{2, 1, 1, 0});
  EXPECT_EQ(ModelConfig::load(source).value().layer(0).attention()->rope.layout, RopeLayout::kHalves);
}

}  // namespace
}  // namespace octavo::test
