#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sampler/sampler.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string message(const SamplingParams& params) {
  const Result<void> result = check_sampling_params(params);
  return result ? std::string() : result.error().message;
}

TEST(SamplingParams, ParametersOutOfRangeNameFieldFoundAndExpected) {
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({.temperature = 0, .top_k = 1'000'000, .top_p = 0, .min_p = 1}), "");
  EXPECT_THAT(message({.temperature = -1}), AllOf(HasSubstr("temperature"), HasSubstr("-1"), HasSubstr("at least 0")));
  EXPECT_THAT(message({.temperature = kNan}), HasSubstr("temperature: found nan"));
  EXPECT_THAT(message({.temperature = kInf}), HasSubstr("temperature: found inf"));
  EXPECT_THAT(message({.top_k = -3}), AllOf(HasSubstr("top_k"), HasSubstr("-3")));
  EXPECT_THAT(message({.top_p = 1.5F}), AllOf(HasSubstr("top_p"), HasSubstr("1.5"), HasSubstr("0 to 1")));
  EXPECT_THAT(message({.top_p = kNan}), HasSubstr("top_p"));
  EXPECT_THAT(message({.min_p = -0.5F}), AllOf(HasSubstr("min_p"), HasSubstr("-0.5")));
  EXPECT_EQ(message({.repetition_penalty = 0.1F, .frequency_penalty = -2, .presence_penalty = 2}), "");
  EXPECT_EQ(message({.logit_bias = {{3, -100.0F}, {3, 100.0F}}}), "");
  for (const float penalty : {0.0F, -1.0F, kNan, kInf}) {
    EXPECT_THAT(message({.repetition_penalty = penalty}), HasSubstr("repetition_penalty: found"));
  }
  for (const float penalty : {-2.1F, 2.1F, kNan, -kInf}) {
    EXPECT_THAT(message({.frequency_penalty = penalty}), AllOf(HasSubstr("frequency_penalty"), HasSubstr("-2 to 2")));
    EXPECT_THAT(message({.presence_penalty = penalty}), AllOf(HasSubstr("presence_penalty"), HasSubstr("-2 to 2")));
  }
  for (const float bias : {-100.5F, 101.0F, kNan, kInf}) {
    EXPECT_THAT(message({.logit_bias = {{0, 1.0F}, {7, bias}}}), AllOf(HasSubstr("logit_bias[7]"), HasSubstr("100")));
  }
}

TEST(SamplingParams, TheNewerFieldsAreCheckedToo) {
  EXPECT_EQ(message({.penalty_window = 5, .top_n_sigma = 1, .typical_p = 0.5F, .xtc = {0.5F, 0.2F}}), "");
  EXPECT_THAT(message({.penalty_window = -1}), AllOf(HasSubstr("penalty_window"), HasSubstr("-1")));
  EXPECT_THAT(message({.top_n_sigma = -1}), AllOf(HasSubstr("top_n_sigma: found -1"), HasSubstr("at least 0")));
  EXPECT_THAT(message({.top_n_sigma = kInf}), HasSubstr("top_n_sigma"));
  EXPECT_THAT(message({.typical_p = 1.1F}), AllOf(HasSubstr("typical_p: found 1.1"), HasSubstr("0 to 1")));
  EXPECT_THAT(message({.dynamic_temperature = {.range = -0.1F}}), HasSubstr("dynamic_temperature.range"));
  EXPECT_THAT(message({.dynamic_temperature = {.exponent = kNan}}), HasSubstr("dynamic_temperature.exponent"));
  EXPECT_THAT(message({.xtc = {.probability = 1.5F}}), HasSubstr("xtc.probability"));
  EXPECT_THAT(message({.xtc = {.threshold = -0.5F}}), HasSubstr("xtc.threshold"));
  EXPECT_THAT(message({.dry = {.multiplier = -1}}), HasSubstr("dry.multiplier"));
  EXPECT_THAT(message({.dry = {.base = 0.5F}}), HasSubstr("dry.base"));
  EXPECT_THAT(message({.dry = {.allowed_length = -2}}), HasSubstr("dry.allowed_length"));
  EXPECT_THAT(message({.dry = {.window = -2}}), HasSubstr("dry.window"));
  EXPECT_THAT(message({.dry = {.breakers = {""}}}), AllOf(HasSubstr("dry.breakers"), HasSubstr("0 bytes")));
  EXPECT_THAT(message({.dry = {.breakers = std::vector<std::string>(17, "a")}}), HasSubstr("at most 16"));
  EXPECT_THAT(message({.mirostat = {.version = 3}}), HasSubstr("mirostat.version: found 3"));
  EXPECT_THAT(message({.mirostat = {.tau = -1}}), HasSubstr("mirostat.tau"));
  EXPECT_THAT(message({.mirostat = {.eta = 2}}), HasSubstr("mirostat.eta"));
  EXPECT_THAT(message({.order = {SamplerStep::kTopK, SamplerStep::kTopK}}), HasSubstr("top_k twice"));
  EXPECT_THAT(message({.order = {static_cast<SamplerStep>(99)}}), HasSubstr("order[0]: found 99"));
}

}  // namespace
}  // namespace octavo
