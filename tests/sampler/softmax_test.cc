#include "sampler/softmax.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace octavo {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Softmax, FiniteLogitBoundsInfinitiesAndSinksNan) {
  EXPECT_EQ(finite_logit(1.5F), 1.5F);
  EXPECT_EQ(finite_logit(kInf), kMax);
  EXPECT_EQ(finite_logit(-kInf), -kMax);
  EXPECT_EQ(finite_logit(kNan), -kMax);
  EXPECT_EQ(finite_logit(-kNan), -kMax);
}

TEST(Softmax, WeightsAreCloseToTheExponential) {
  std::vector<float> logits, weights;
  for (float x = 0; x > -86.9F; x -= 0.0137F) logits.push_back(x);
  weights.resize(logits.size());
  softmax_weights(logits, 0, 1.0F, weights);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double expected = std::exp(static_cast<double>(logits[i]));
    ASSERT_NEAR(weights[i] / expected, 1.0, 3e-7) << logits[i];
  }
  EXPECT_EQ(weights[0], 1.0F);
}

TEST(Softmax, FarBelowTheMaximumTheWeightIsZero) {
  const std::vector<float> logits = {-88, -1000, -kMax, -kInf, kNan};
  std::vector<float> weights(logits.size(), 7);
  softmax_weights(logits, 0, 1.0F, weights);
  EXPECT_EQ(weights, std::vector<float>(logits.size(), 0));
  softmax_weights(logits, kMax, 1e-38F, weights);
  EXPECT_EQ(weights, std::vector<float>(logits.size(), 0));
}

TEST(Softmax, SumsMatchFloat64WhateverTheLength) {
  for (const std::size_t size : {1, 15, 16, 17, 255, 256, 257, 5000}) {
    std::vector<float> weights(size);
    double expected = 0;
    for (std::size_t i = 0; i < size; ++i) expected += weights[i] = 1.0F / static_cast<float>(i + 1);
    std::vector<double> chunks((size + kSumChunk - 1) / kSumChunk);
    const double total = sum_chunks(weights, chunks);
    EXPECT_NEAR(total / expected, 1.0, 1e-6);
    double of_chunks = 0;
    for (const double chunk : chunks) of_chunks += chunk;
    EXPECT_EQ(total, of_chunks);
  }
}

// Figures of the code without vectors wider than SSE2: the loader's choice of wider ones must not change a bit.
TEST(Softmax, BitsAreTheSameOnEveryProcessor) {
  std::vector<float> logits(49152), weights(logits.size());
  std::uint32_t random = 1;
  for (float& logit : logits) {
    random = random * 1664525 + 1013904223;
    logit = static_cast<float>((random >> 8) % 2000) / 100.0F;
  }
  const float max = max_logit(logits);
  softmax_weights(logits, max, 1.0F, weights);
  std::uint32_t hash = 0;
  for (const float weight : weights) hash = hash * 31 + std::bit_cast<std::uint32_t>(weight);
  EXPECT_EQ(max, 19.99F);
  EXPECT_EQ(hash, 0xE1ECF7E8U);
  EXPECT_EQ(sum_chunks(weights, {}), 2410.5795650201617);
}

TEST(Softmax, MaximumIsFoundAtEveryPlace) {
  for (const std::size_t size : {1, 16, 33, 100}) {
    for (std::size_t place = 0; place < size; ++place) {
      std::vector<float> logits(size, -3);
      logits[place] = 2;
      EXPECT_EQ(max_logit(logits), 2);
    }
  }
  EXPECT_EQ(max_logit(std::vector<float>(40, -kInf)), -kMax);
}

TEST(Softmax, TheTotalAloneHasTheBitsOfTheSumOfTheWeights) {
  for (const std::size_t size : {1U, 15U, 256U, 257U, 5000U}) {
    std::vector<float> logits(size), weights(size);
    for (std::size_t i = 0; i < size; ++i) logits[i] = static_cast<float>(i * 7919 % 1009) / 50 - 9;
    const float max = max_logit(logits);
    softmax_weights(logits, max, 1.0F, weights);
    EXPECT_EQ(softmax_total(logits, max), sum_chunks(weights, {})) << size;
  }
}

TEST(Softmax, TheSmallestFloatWeighsNothingAtAnyTemperature) {
  const std::vector<float> logits = {-std::numeric_limits<float>::max(), 0, -1};
  std::vector<float> weights(3);
  softmax_weights(logits, 0, 3e38F, weights);
  EXPECT_EQ(weights, (std::vector<float>{0, 1, 1}));
}

}  // namespace
}  // namespace octavo
