#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

TEST(Starcoder2, NormsAreLayerNormWithBiasesAndThereIsNoGate) {
  MemorySource source = family_keys("starcoder2");
  source.add("starcoder2.rope.freq_base", 1e5F).add("starcoder2.attention.layer_norm_epsilon", 1e-5F);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.norm, NormKind::kLayer);
  EXPECT_EQ(config.output_norm_bias, Presence::kRequired);
  const LayerSpec& layer = config.layer(1);
  EXPECT_EQ(layer.norm_biases, Presence::kRequired);
  EXPECT_EQ(layer.attention()->output_bias, Presence::kRequired);
  EXPECT_EQ(layer.attention()->rope.layout, RopeLayout::kHalves);
  const auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  EXPECT_FALSE(dense.is_gated);
  EXPECT_EQ(dense.biases, Presence::kRequired);
  EXPECT_EQ(dense.activation, Activation::kGeluTanh);
}

}  // namespace
}  // namespace octavo::test
