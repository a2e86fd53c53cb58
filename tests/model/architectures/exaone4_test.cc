#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

MemorySource exaone_keys() {
  MemorySource source = family_keys("exaone4", 4);
  source.add("exaone4.rope.freq_base", 1e6F);
  return source;
}

TEST(Exaone4, ResultsAloneAreNormedAndEachHeadOfQAndK) {
  const ModelConfig config = ModelConfig::load(exaone_keys()).value();
  const LayerSpec& layer = config.layer(3);
  EXPECT_EQ(layer.mixer_norm, Presence::kAbsent);
  EXPECT_EQ(layer.ffn_norm, Presence::kAbsent);
  EXPECT_TRUE(layer.post_norms);
  EXPECT_EQ(layer.attention()->q_norm_width(), 16);
  EXPECT_EQ(layer.attention()->rope.num_rotated, 16);  // without windows all layers have positions
  EXPECT_EQ(layer.attention()->rope.factors, Presence::kOptional);
}

TEST(Exaone4, BesideWindowsLayersThatSeeAllKnowNoPositions) {
  const ModelConfig config = ModelConfig::load(exaone_keys().add("exaone4.attention.sliding_window", 8U)).value();
  EXPECT_EQ(config.layer(2).attention()->window, 8);
  EXPECT_EQ(config.layer(2).attention()->rope.num_rotated, 16);
  EXPECT_EQ(config.layer(3).attention()->window, 0);
  EXPECT_EQ(config.layer(3).attention()->rope.num_rotated, 0);
  EXPECT_EQ(config.layer(3).attention()->rope.factors, Presence::kAbsent);
}

}  // namespace
}  // namespace octavo::test
