#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

TEST(Qwen3, HeadsAreNormedAndBiasesMayBeThere) {
  MemorySource source = family_keys("qwen3");
  source.add("qwen3.rope.freq_base", 1e6F);
  const ModelConfig config = ModelConfig::load(source).value();
  ASSERT_EQ(config.num_layers(), 2);
  for (const LayerSpec& layer : config.layers) {
    const AttentionSpec& attention = *layer.attention();
    EXPECT_EQ(attention.qk_norm, Presence::kRequired);
    EXPECT_EQ(attention.qkv_bias, Presence::kOptional);
    EXPECT_EQ(attention.output_bias, Presence::kAbsent);
    EXPECT_EQ(attention.rope.layout, RopeLayout::kHalves);
    EXPECT_EQ(attention.rope.base, 1e6);
    EXPECT_EQ(attention.window, 0);
    EXPECT_FALSE(layer.post_norms);
  }
}

TEST(Qwen3, TheRopeBaseHasNoDefault) {
  EXPECT_THAT(error_of(family_keys("qwen3")), HasSubstr("'qwen3.rope.freq_base' is missing"));
}

}  // namespace
}  // namespace octavo::test
