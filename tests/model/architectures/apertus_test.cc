#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

MemorySource apertus() {
  MemorySource source = family_keys("apertus");
  source.add("apertus.rope.freq_base", 1.2e7F);
  source.add_array("xielu.alpha_p", std::vector<float>{0.0F, 0.5F}).add("xielu.alpha_n", 0.25F);
  source.add("xielu.beta", 0.5F).add("xielu.eps", -1e-6F);
  return source;
}

TEST(Apertus, EachLayerHasTheNumbersOfItsXielu) {
  const ModelConfig config = ModelConfig::load(apertus()).value();
  const auto dense = [&](int layer) { return std::get<DenseFfnSpec>(config.layer(layer).feed_forward); };
  EXPECT_EQ(dense(0).activation, Activation::kXielu);
  EXPECT_FALSE(dense(0).is_gated);
  EXPECT_FLOAT_EQ(dense(0).xielu.above, 0.693147F) << "softplus of 0";
  EXPECT_FLOAT_EQ(dense(1).xielu.above, 0.974077F);
  EXPECT_FLOAT_EQ(dense(1).xielu.below, 0.5F + 0.825939F) << "beta + softplus of alpha_n";
  EXPECT_EQ(dense(1).xielu.slope, 0.5F);
  EXPECT_EQ(dense(1).xielu.most, -1e-6F);
  EXPECT_EQ(config.layer(0).attention()->qk_norm, Presence::kRequired);
  EXPECT_EQ(config.layer(0).attention()->rope.layout, RopeLayout::kHalves);
}

TEST(Apertus, NumbersThatAreMissingOrNoneOrTooManyAreRefused) {
  MemorySource source = family_keys("apertus");
  source.add("apertus.rope.freq_base", 1.2e7F);
  EXPECT_THAT(error_of(source), HasSubstr("'xielu.alpha_p' is missing"));
  MemorySource three = apertus();
  three.add_array("xielu.alpha_p", std::vector<float>{0.0F, 0.5F, 1.0F});
  EXPECT_THAT(error_of(three), HasSubstr("xielu.alpha_p has 3 numbers, expected one for each of the 2 layers"));
  MemorySource large = apertus();
  large.add("xielu.beta", 1e9F);
  EXPECT_THAT(error_of(large), HasSubstr("a number of xielu is"));
}

}  // namespace
}  // namespace octavo::test
