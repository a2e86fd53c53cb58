#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource lfm3_keys() {
  MemorySource source = family_keys("lfm3", 3);
  source.add_array("lfm3.attention.head_count_kv", std::vector<std::int32_t>{0, 2, 2});
  source.add_array("lfm3.attention.sliding_window_pattern", std::vector{false, false, true});
  source.add("lfm3.attention.sliding_window", 32U).add("lfm3.shortconv.l_cache", 7U);
  source.add("lfm3.rope.freq_base", 1e6F).add("lfm3.rope.freq_base_swa", 1e4F);
  return source;
}

TEST(Lfm3, PartsHaveNormsBehindThemAndHeadsAGate) {
  const ModelConfig config = ModelConfig::load(lfm3_keys()).value();
  ASSERT_EQ(config.num_layers(), 3);
  for (const LayerSpec& layer : config.layers) EXPECT_TRUE(layer.post_norms);
  EXPECT_EQ(*config.layer(0).short_conv(), (ShortConvSpec{.width = 64, .taps = 7}));
  for (const int i : {1, 2}) {
    const AttentionSpec& attention = *config.layer(i).attention();
    EXPECT_EQ(attention.qk_norm, Presence::kRequired);
    ASSERT_TRUE(attention.output_gate);
    EXPECT_TRUE(attention.output_gate->is_of_heads);
    EXPECT_EQ(attention.gate_rows(), 4);
  }
}

TEST(Lfm3, LayersWithAWindowHaveABaseOfTheirOwnAndTheOthersFactors) {
  MemorySource source = lfm3_keys();
  const ModelConfig config = ModelConfig::load(source).value();
  const AttentionSpec &global = *config.layer(1).attention(), &windowed = *config.layer(2).attention();
  EXPECT_EQ(global.window, 0);
  EXPECT_EQ(global.rope.base, 1e6);
  EXPECT_EQ(global.rope.factors, Presence::kRequired);
  EXPECT_EQ(windowed.window, 32);
  EXPECT_EQ(windowed.rope.base, 1e4);
  EXPECT_EQ(windowed.rope.factors, Presence::kAbsent);
  source.add("lfm3.rope.freq_base_swa", 0.0F);
  EXPECT_THAT(error_of(source), HasSubstr("lfm3.rope.freq_base_swa is 0, expected a positive number"));
}

}  // namespace
}  // namespace octavo::test
