// The searches against scans of many lines: slower, and so simple that they are right by looking at them.
#include "tensor/fit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace octavo {
namespace {

using Values = std::vector<float>;

float error_of(const Values& values, const Values& weights, const Line& line, int lowest, int highest) {
  Values codes(values.size());
  return nearest_codes(values, weights, line, lowest, highest, codes);
}

/// Values as weights of models are: most small, some far out.
struct Sample {
  Values values, weights;
  explicit Sample(std::size_t size) {
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    std::normal_distribution<float> normal;
    const float shift = *rc::gen::element(0.0F, 0.5F, -3.0F);
    const bool heavy = *rc::gen::arbitrary<bool>();
    for (std::size_t i = 0; i < size; ++i) {
      const float x = normal(random);
      values.push_back(0.02F * ((heavy ? x * x * x : x) + shift));
      weights.push_back(std::abs(normal(random)) + 0.01F);
    }
  }
};

RC_GTEST_PROP(Fit, FindsScalesAsGoodAsAScanOfManyDoes, ()) {
  const Sample sample(*rc::gen::element<std::size_t>(8, 16, 32));
  const int highest = *rc::gen::element(7, 15, 31);
  const float extreme = std::abs(*std::ranges::max_element(sample.values, {}, [](float x) { return std::abs(x); }));
  float least = HUGE_VALF;
  for (const float sign : {-1.0F, 1.0F}) {
    for (int step = -500; step <= 500; ++step) {  // the extreme value up to a code from the last one
      const float scale = sign * extreme / (static_cast<float>(highest) + static_cast<float>(step) / 500);
      least = std::min(least, error_of(sample.values, sample.weights, {.scale = scale}, -highest - 1, highest));
    }
  }
  const float scale = fit_scale(sample.values, sample.weights, -highest - 1, highest);
  const float found = error_of(sample.values, sample.weights, {.scale = scale}, -highest - 1, highest);
  RC_ASSERT(found <= 1.3F * least);  // one of 9000 samples has more than 1.1
}

RC_GTEST_PROP(Fit, FindsLinesAsGoodAsAScanOfManyDoes, ()) {
  const Sample sample(32);
  const int highest = *rc::gen::element(15, 31);
  const auto [low, high] = std::ranges::minmax(sample.values);
  float least = HUGE_VALF;
  const float code = (high - low) / static_cast<float>(highest);
  for (int i = -40; i <= 40; ++i) {  // both ends up to a code from the extreme values
    for (int j = -40; j <= 40; ++j) {
      const float begin = low + code * static_cast<float>(i) / 40;
      const float end = high + code * static_cast<float>(j) / 40;
      const Line line{.scale = (end - begin) / static_cast<float>(highest), .offset = begin};
      least = std::min(least, error_of(sample.values, sample.weights, line, 0, highest));
    }
  }
  const float found = error_of(sample.values, sample.weights,
                               fit_line(sample.values, sample.weights, highest, Offset::kAny), 0, highest);
  RC_ASSERT(found <= 1.6F * least);  // one of 80,000 has more than 1.3
}

RC_GTEST_PROP(Fit, GivesNoPositiveOffsetWhereNoneIsWanted, ()) {
  const Sample sample(32);
  const Line line = fit_line(sample.values, sample.weights, 15, Offset::kNotPositive);
  RC_ASSERT(line.offset <= 0);
  RC_ASSERT(line.scale >= 0);
}

RC_GTEST_PROP(Fit, FindsTheLineThatValuesLieOn, ()) {
  const float scale = std::ldexp(1.0F, *rc::gen::inRange(-20, 5));
  const float offset = scale * static_cast<float>(*rc::gen::inRange(-20, 20));
  Values values(32, offset), weights(32, 1.0F);
  for (float& value : values) value += scale * static_cast<float>(*rc::gen::inRange(0, 16));
  values[0] = offset;
  values[1] = offset + 15 * scale;
  const Line line = fit_line(values, weights, 15, Offset::kAny);
  RC_ASSERT(error_of(values, weights, line, 0, 15) <= 1e-5F * scale * scale);
}

TEST(Fit, GivesZeroForZeros) {
  const Values zeros(32), ones(32, 1.0F);
  EXPECT_EQ(fit_scale(zeros, ones, -8, 7), 0);
  const Line line = fit_line(zeros, ones, 15, Offset::kAny);
  EXPECT_EQ(line.scale, 0);
  EXPECT_EQ(line.offset, 0);
}

TEST(Fit, PutsEqualValuesIntoTheOffset) {
  const Values values(32, 0.3F), ones(32, 1.0F);
  const Line line = fit_line(values, ones, 15, Offset::kAny);
  EXPECT_LT(error_of(values, ones, line, 0, 15), 1e-10F);
  const Line not_positive = fit_line(values, ones, 15, Offset::kNotPositive);
  EXPECT_EQ(not_positive.offset, 0);
  EXPECT_LT(error_of(values, ones, not_positive, 0, 15), 1e-10F);
}

TEST(Fit, HasALineEvenWhereNoErrorCounts) {
  const Values values{0, 1, 2, 3, 4, 5, 6, 15}, zeros(8);
  EXPECT_FLOAT_EQ(fit_line(values, zeros, 15, Offset::kAny).scale, 1);
}

}  // namespace
}  // namespace octavo
