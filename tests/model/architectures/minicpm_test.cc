#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/architectures/family_keys.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;

TEST(Minicpm, WithoutScalesThoseOfTheFirstModelsCount) {
  const ModelConfig config = ModelConfig::load(family_keys("minicpm", 4)).value();
  EXPECT_EQ(config.embedding_scale, 12.0F);
  EXPECT_FLOAT_EQ(config.residual_scale, 0.7F);  // 1.4 over the root of four layers
  EXPECT_EQ(config.logit_scale, 4.0F);           // 256 over the width, 64
  EXPECT_EQ(config.layer(0).attention()->rope.layout, RopeLayout::kNeighbours);
}

TEST(Minicpm, AFilesScalesTakeTheirPlaceAndThatOfLogitsDivides) {
  MemorySource source = family_keys("minicpm");
  source.add("minicpm.embedding_scale", 10.0F).add("minicpm.residual_scale", 0.5F).add("minicpm.logit_scale", 16.0F);
  const ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(config.embedding_scale, 10.0F);
  EXPECT_EQ(config.residual_scale, 0.5F);
  EXPECT_EQ(config.logit_scale, 0.0625F);
}

// The context that is served decides, which is the model's where the options name none.
TEST(Minicpm, FrequenciesHaveTheFactorsOfTheContextThatIsServed) {
  const auto list = [](std::optional<std::uint32_t> original, int served) {
    MemorySource source = family_keys("minicpm");
    source.add("minicpm.rope.scaling.type", std::string_view("longrope"));
    if (original) source.add("minicpm.rope.scaling.original_context_length", *original);
    const ModelConfig config = ModelConfig::load(source, Math(), served).value();
    EXPECT_EQ(config.layer(0).attention()->rope.factors, Presence::kRequired);
    return config.rope_factors();
  };
  EXPECT_EQ(list(512, 0), RopeFactors::kOfShortContexts);
  EXPECT_EQ(list({}, 0), RopeFactors::kOfShortContexts);
  EXPECT_EQ(list(511, 0), RopeFactors::kOfLongContexts);
  EXPECT_EQ(list(511, 511), RopeFactors::kOfShortContexts);
  EXPECT_EQ(list(64, 65), RopeFactors::kOfLongContexts);
}

}  // namespace
}  // namespace octavo::test
