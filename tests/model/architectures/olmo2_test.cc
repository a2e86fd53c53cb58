#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

MemorySource olmo_keys(std::uint32_t layers) {
  MemorySource source = family_keys("olmo2", layers);
  source.add("olmo2.rope.freq_base", 5e5F);
  return source;
}

TEST(Olmo2, ResultsAloneAreNormedAndQAndKOverAllTheirHeads) {
  const ModelConfig config = ModelConfig::load(olmo_keys(2)).value();
  const LayerSpec& layer = config.layer(1);
  EXPECT_EQ(layer.mixer_norm, Presence::kAbsent);
  EXPECT_EQ(layer.ffn_norm, Presence::kAbsent);
  EXPECT_TRUE(layer.post_norms);
  EXPECT_EQ(layer.attention()->qk_norm, Presence::kRequired);
  EXPECT_EQ(layer.attention()->q_norm_width(), 64);
  EXPECT_EQ(layer.attention()->k_norm_width(), 32);
  EXPECT_EQ(layer.attention()->window, 0);
}

TEST(Olmo2, LayersWithAWindowHavePositionsThatAreNotStretched) {
  MemorySource source = olmo_keys(4);
  source.add("olmo2.attention.sliding_window", 8U).add("olmo2.rope.scaling.type", std::string("yarn"));
  source.add("olmo2.rope.scaling.factor", 8.0F).add("olmo2.rope.freq_base_swa", 1e4F);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.layer(2).attention()->window, 8);
  EXPECT_EQ(config.layer(2).attention()->rope.scaling, RopeScaling{});
  EXPECT_DOUBLE_EQ(config.layer(2).attention()->rope.base, 1e4);
  EXPECT_EQ(config.layer(3).attention()->window, 0);
  EXPECT_TRUE(config.layer(3).attention()->rope.scaling.yarn);
  EXPECT_DOUBLE_EQ(config.layer(3).attention()->rope.base, 5e5);
}

TEST(Olmo2, AWindowOfNoTokensIsNone) {
  const ModelConfig config = ModelConfig::load(olmo_keys(2).add("olmo2.attention.sliding_window", 0U)).value();
  EXPECT_EQ(config.layer(0).attention()->window, 0);
}

}  // namespace
}  // namespace octavo::test
