#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MemorySource gemma2_keys(std::uint32_t layers) {
  MemorySource source = family_keys("gemma2", layers);
  source.add("gemma2.attention.sliding_window", 24U);
  source.add("gemma2.attn_logit_softcapping", 40.0F).add("gemma2.final_logit_softcapping", 20.0F);
  return source;
}

TEST(Gemma2, EverySecondLayerSeesAll) {
  const ModelConfig config = ModelConfig::load(gemma2_keys(5)).value();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(config.layer(i).attention()->window, i % 2 == 0 ? 24 : 0) << i;
}

TEST(Gemma2, ScoresAndLogitsAreCapped) {
  const ModelConfig config = ModelConfig::load(gemma2_keys(3)).value();
  EXPECT_EQ(config.logit_soft_cap, 20.0F);
  for (const LayerSpec& layer : config.layers) EXPECT_EQ(layer.attention()->soft_cap, 40.0F);
}

TEST(Gemma2, ItsLayersHaveMoreNormsAndAnotherActivation) {
  const ModelConfig config = ModelConfig::load(gemma2_keys(2)).value();
  EXPECT_EQ(config.embedding_scale, 8.0F);  // the root of the width
  for (const LayerSpec& layer : config.layers) {
    EXPECT_EQ(layer.attention()->qk_norm, Presence::kAbsent);
    EXPECT_EQ(layer.attention()->rope.layout, RopeLayout::kHalves);
    EXPECT_EQ(layer.attention()->rope.base, 10000.0);
    EXPECT_TRUE(layer.post_norms);
    EXPECT_EQ(std::get<DenseFfnSpec>(layer.feed_forward).activation, Activation::kGeluTanh);
  }
}

TEST(Gemma2, TheFirstFilesLeaveWindowAndCapsOut) {
  const ModelConfig config = ModelConfig::load(family_keys("gemma2")).value();
  EXPECT_EQ(config.layer(0).attention()->window, 4096);
  EXPECT_EQ(config.layer(0).attention()->soft_cap, 50.0F);
  EXPECT_EQ(config.logit_soft_cap, 30.0F);
}

TEST(Gemma2, TheLargestModelIsKnownByItsLayersAndScalesByItsWidth) {
  for (const int layers : {45, 46}) {
    MemorySource source = gemma2_keys(static_cast<std::uint32_t>(layers));
    source.add("gemma2.attention.key_length", 32U).add("gemma2.attention.value_length", 32U);
    const ModelConfig config = ModelConfig::load(source).value();
    const float per_head = layers == 46 ? 16 : 32;  // 64 over 4 heads
    for (const LayerSpec& layer : config.layers) EXPECT_EQ(layer.attention()->scale, 1.0F / std::sqrt(per_head));
  }
}

TEST(Gemma2, CapsThatAreNoPositiveNumbersAreRefused) {
  for (const char* key : {"gemma2.attn_logit_softcapping", "gemma2.final_logit_softcapping"})
    for (const float cap :
         {0.0F, -30.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      MemorySource source = gemma2_keys(2);
      source.add(key, cap);
      EXPECT_THAT(error_of(source), AllOf(HasSubstr(key), HasSubstr("expected a positive number"))) << cap;
    }
}

TEST(Gemma2, AWindowThatIsNoSizeIsRefused) {
  MemorySource source = gemma2_keys(2);
  source.add("gemma2.attention.sliding_window", 1U << 31);
  EXPECT_THAT(error_of(source), HasSubstr("gemma2.attention.sliding_window is 2147483648, expected 1 to 16777216"));
  source.add("gemma2.attention.sliding_window", 24U).add("gemma2.attention.sliding_window_pattern", 1U << 31);
  EXPECT_THAT(error_of(source), HasSubstr("sliding_window_pattern is 2147483648, expected 0 to 16777216"));
}

}  // namespace
}  // namespace octavo::test
