#include "model/architectures/rope_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/memory_source.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;

constexpr int kHeadDim = 32;

MemorySource rope_source() {
  MemorySource source;
  source.add("llama.context_length", 4096U);
  return source;
}

Result<RopeSpec> read(const MemorySource& source) { return read_rope(ModelKeys(source, "llama"), kHeadDim, 1e4); }

RopeScaling scaling_of(const MemorySource& source) { return read(source).value().scaling; }

std::string error_of(const MemorySource& source) {
  const Result<RopeSpec> rope = read(source);
  return rope ? "no error" : rope.error().message;
}

MemorySource yarn_source() {
  MemorySource source = rope_source();
  source.add("llama.rope.scaling.type", "yarn").add("llama.rope.scaling.factor", 4.0F);
  return source;
}

TEST(RopeKeys, WithoutAnyAllDimensionsAreRotatedAndNothingIsScaled) {
  const RopeSpec rope = read(rope_source()).value();
  EXPECT_EQ(rope.num_rotated, kHeadDim);
  EXPECT_EQ(rope.base, 1e4);
  EXPECT_EQ(rope.scaling, RopeScaling{});
}

TEST(RopeKeys, APartOfAHeadMayBeRotated) {
  MemorySource source = rope_source();
  source.add("llama.rope.dimension_count", 16U);
  EXPECT_EQ(read(source).value().num_rotated, 16);
  source.add("llama.rope.dimension_count", 34U);
  EXPECT_THAT(error_of(source), HasSubstr("llama.rope.dimension_count is 34, expected an even number up to the 32"));
  source.add("llama.rope.dimension_count", 7U);
  EXPECT_THAT(error_of(source), HasSubstr("llama.rope.dimension_count is 7"));
}

TEST(RopeKeys, PositionsAreScaledByEitherNameOfTheFactor) {
  MemorySource source = rope_source();
  source.add("llama.rope.scale_linear", 2.0F);
  EXPECT_EQ(scaling_of(source), RopeScaling{.divisor = 2});
  source.add("llama.rope.scaling.factor", 8.0F);
  EXPECT_EQ(scaling_of(source), RopeScaling{.divisor = 8});
  source.add("llama.rope.scaling.type", "none");
  EXPECT_EQ(scaling_of(source), RopeScaling{});
  source.add("llama.rope.scaling.type", "linear");
  EXPECT_EQ(scaling_of(source), RopeScaling{.divisor = 8});
}

TEST(RopeKeys, AFactorOfZeroIsNone) {
  for (const char* type : {"linear", "yarn"}) {
    MemorySource source = rope_source();
    source.add("llama.rope.scaling.type", type).add("llama.rope.scaling.factor", 0.0F);
    EXPECT_EQ(scaling_of(source).divisor, 1) << type;
    EXPECT_EQ(scaling_of(source).magnitude, 1) << type;
  }
  MemorySource source = rope_source();
  source.add("llama.rope.scaling.attn_factor", 0.0F);
  EXPECT_EQ(scaling_of(source), RopeScaling{});
}

TEST(RopeKeys, YarnHasTheDefaultsOfItsPaper) {
  const RopeScaling scaling = scaling_of(yarn_source());
  EXPECT_EQ(scaling.divisor, 4);
  EXPECT_EQ(scaling.yarn, YarnRamp{.original_context = 4096});
  EXPECT_DOUBLE_EQ(scaling.magnitude, 0.1 * std::log(4.0) + 1);
}

TEST(RopeKeys, YarnTakesEachOfItsKeys) {
  MemorySource source = yarn_source();
  source.add("llama.rope.scaling.original_context_length", 1024U)
      .add("llama.rope.scaling.yarn_beta_fast", 16.0F)
      .add("llama.rope.scaling.yarn_beta_slow", 2.0F)
      .add("llama.rope.scaling.yarn_ext_factor", 0.5F)
      .add("llama.rope.scaling.yarn_log_multiplier", 1.0F)
      .add("llama.rope.scaling.attn_factor", 2.0F);
  const RopeScaling scaling = scaling_of(source);
  EXPECT_EQ(scaling.yarn, (YarnRamp{.original_context = 1024, .fast_turns = 16, .slow_turns = 2, .strength = 0.5}));
  EXPECT_DOUBLE_EQ(scaling.magnitude, 2) << "the model's scale of scores has the rest";
  source.add("llama.rope.scaling.yarn_attn_factor", 3.0F);
  EXPECT_DOUBLE_EQ(scaling_of(source).magnitude, 6);
}

TEST(RopeKeys, YarnWithoutStrengthIsLinear) {
  MemorySource source = yarn_source();
  source.add("llama.rope.scaling.yarn_ext_factor", 0.0F);
  EXPECT_EQ(scaling_of(source), RopeScaling{.divisor = 4});
}

TEST(RopeKeys, ErrorsNameTheKeyAndWhatWasFound) {
  const auto error_with = [](const char* key, auto value) {
    MemorySource source = yarn_source();
    source.add(key, value);
    return error_of(source);
  };
  EXPECT_THAT(error_with("llama.rope.scaling.type", "ntk"),
              HasSubstr("llama.rope.scaling.type is 'ntk', supported are: none, linear, yarn"));
  EXPECT_THAT(error_with("llama.rope.scaling.factor", -1.0F),
              HasSubstr("llama.rope.scaling.factor is -1, expected 0 or a positive number"));
  EXPECT_THAT(
      error_with("llama.rope.scaling.yarn_beta_slow", 64.0F),
      HasSubstr(
          "llama.rope.scaling.yarn_beta_fast is 32, expected at least llama.rope.scaling.yarn_beta_slow, which is 64"));
  EXPECT_THAT(error_with("llama.rope.freq_base", 1.0F), HasSubstr("llama.rope.freq_base is 1, expected more than 1"));
  EXPECT_THAT(error_with("llama.rope.scaling.original_context_length", 0U),
              HasSubstr("llama.rope.scaling.original_context_length is 0"));
}

}  // namespace
}  // namespace octavo::test
