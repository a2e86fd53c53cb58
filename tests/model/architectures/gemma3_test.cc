#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource gemma3_keys(std::uint32_t layers) {
  MemorySource source = family_keys("gemma3", layers);
  source.add("gemma3.rope.freq_base", 1e6F).add("gemma3.attention.sliding_window", 24U);
  return source;
}

bool is_global(int layer) { return layer % 6 == 5; }

TEST(Gemma3, FiveLayersHaveAWindowAndTheSixthHasNone) {
  const ModelConfig config = ModelConfig::load(gemma3_keys(13)).value();
  ASSERT_EQ(config.num_layers(), 13);
  for (int i = 0; i < 13; ++i) EXPECT_EQ(config.layer(i).attention()->window, is_global(i) ? 0 : 24) << i;
}

TEST(Gemma3, ItsLayersHaveMoreNormsAndAnotherActivation) {
  const ModelConfig config = ModelConfig::load(gemma3_keys(6)).value();
  EXPECT_EQ(config.embedding_scale, 8.0F);  // the root of the width
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec& attention = *layer.attention();
    EXPECT_EQ(attention.qk_norm, Presence::kRequired);
    EXPECT_EQ(attention.qkv_bias, Presence::kOptional);
    EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
    EXPECT_EQ(attention.scale, 0.25F);
    EXPECT_TRUE(layer.post_norms);
    EXPECT_EQ(std::get<DenseFfnSpec>(layer.feed_forward).activation, Activation::kGeluTanh);
  }
}

TEST(Gemma3, LayersWithAWindowHaveARopeBaseOfTheirOwnAndNoScaling) {
  MemorySource source = gemma3_keys(6);
  source.add("gemma3.rope.scaling.factor", 8.0F);
  for (const double local : {10000.0, 77.0}) {
    if (local == 77.0) source.add("gemma3.rope.freq_base_swa", 77.0F);
    const ModelConfig config = ModelConfig::load(source).value();
    for (int i = 0; i < 6; ++i) {
      const RopeSpec& rope = config.layer(i).attention()->rope;
      EXPECT_EQ(rope.base, is_global(i) ? 1e6 : local) << i;
      EXPECT_EQ(rope.scaling.divisor, is_global(i) ? 8.0 : 1.0) << i;
    }
  }
}

TEST(Gemma3, TheLargestModelIsKnownByItsLayersAndScalesByItsWidth) {
  for (const int layers : {61, 62}) {
    MemorySource source = gemma3_keys(static_cast<std::uint32_t>(layers));
    source.add("gemma3.attention.key_length", 32U).add("gemma3.attention.value_length", 32U);
    const ModelConfig config = ModelConfig::load(source).value();
    const float per_head = layers == 62 ? 16 : 32;  // 64 over 4 heads
    for (const LayerSpec& layer : config.layers) EXPECT_EQ(layer.attention()->scale, 1.0F / std::sqrt(per_head));
  }
}

TEST(Gemma3, TheWindowHasNoDefaultAndThePatternHasOne) {
  MemorySource source = family_keys("gemma3");
  source.add("gemma3.rope.freq_base", 1e6F);
  EXPECT_THAT(error_of(source), HasSubstr("'gemma3.attention.sliding_window' is missing"));
  source.add("gemma3.attention.sliding_window", 24U).add("gemma3.attention.sliding_window_pattern", 6U);
  EXPECT_EQ(error_of(source), "no error");
  source.add("gemma3.attention.sliding_window_pattern", -1);
  EXPECT_THAT(error_of(source),
              HasSubstr("'gemma3.attention.sliding_window_pattern' is int32 -1, expected an integer"));
}

// The base of its rotation goes with the window.
TEST(Gemma3, AFileMaySayWhichLayersHaveAWindow) {
  MemorySource source = gemma3_keys(6);
  source.add_array("gemma3.attention.sliding_window_pattern", std::vector<std::int32_t>{0, 1, 1, 0, 1, 1});
  const ModelConfig config = ModelConfig::load(source).value();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(config.layer(i).attention()->window, i % 3 == 0 ? 0 : 24) << i;
    EXPECT_EQ(config.layer(i).attention()->rope.base, i % 3 == 0 ? 1e6 : 10000.0) << i;
  }
}

TEST(Gemma3, ALocalBaseThatIsNoPositiveNumberIsRefused) {
  MemorySource source = gemma3_keys(6);
  source.add("gemma3.rope.freq_base_swa", -1.0F);
  EXPECT_THAT(error_of(source), HasSubstr("gemma3.rope.freq_base_swa is -1, expected a positive number"));
}

}  // namespace
}  // namespace octavo::test
