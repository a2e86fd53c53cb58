#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

MemorySource hunyuan_keys() {
  MemorySource source = family_keys("hunyuan-dense");
  source.add("hunyuan-dense.rope.freq_base", 10000.0F);
  return source;
}

TEST(HunyuanDense, HeadsAreNormedBehindTheirRotation) {
  const ModelConfig config = ModelConfig::load(hunyuan_keys()).value();
  EXPECT_EQ(config.layer(0).attention()->qk_norm, Presence::kRequired);
  EXPECT_TRUE(config.layer(0).attention()->qk_norm_after_rope);
  EXPECT_FALSE(config.layer(0).attention()->qk_norm_is_whole);
  EXPECT_DOUBLE_EQ(config.layer(0).attention()->rope.base, 10000);
}

TEST(HunyuanDense, AlphaStretchesTheBase) {
  const ModelConfig config = ModelConfig::load(hunyuan_keys().add("hunyuan-dense.rope.scaling.alpha", 1000.0F)).value();
  EXPECT_NEAR(config.layer(0).attention()->rope.base, 10000 * std::pow(1000.0, 16.0 / 14), 1);
  const ModelConfig none = ModelConfig::load(hunyuan_keys().add("hunyuan-dense.rope.scaling.alpha", 0.0F)).value();
  EXPECT_DOUBLE_EQ(none.layer(0).attention()->rope.base, 10000);
  EXPECT_THAT(error_of(hunyuan_keys().add("hunyuan-dense.rope.scaling.alpha", -1.0F)),
              testing::HasSubstr("hunyuan-dense.rope.scaling.alpha is -1"));
}

}  // namespace
}  // namespace octavo::test
