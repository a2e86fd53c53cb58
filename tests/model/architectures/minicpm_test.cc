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

TEST(Minicpm, FrequenciesHaveTheFactorsOfContextsUpToTheOriginalOne) {
  const auto with_original = [](std::optional<std::uint32_t> original) {
    MemorySource source = family_keys("minicpm");
    source.add("minicpm.rope.scaling.type", std::string_view("longrope"));
    if (original) source.add("minicpm.rope.scaling.original_context_length", *original);
    return source;
  };
  for (const std::optional<std::uint32_t> original : {std::optional<std::uint32_t>(512), {}}) {
    const RopeSpec rope = ModelConfig::load(with_original(original)).value().layer(0).attention()->rope;
    EXPECT_TRUE(rope.has_short_factors);
    EXPECT_EQ(rope.factors, Presence::kRequired);
  }
  EXPECT_THAT(
      error_of(with_original(511)),
      HasSubstr("minicpm.context_length is 512 and minicpm.rope.scaling.original_context_length is 511: contexts "
                "that longrope stretches are not supported"));
}

}  // namespace
}  // namespace octavo::test
