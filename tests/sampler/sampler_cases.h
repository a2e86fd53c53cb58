// Rows of logits and a test of distributions, shared by the sampler's tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sampler/sampler.h"

namespace octavo::test {

/// Roughly normal logits, a function of the seed.
inline std::vector<float> random_logits(std::size_t size, std::uint64_t seed, double spread) {
  std::vector<float> logits(size);
  for (std::size_t i = 0; i < size; ++i) {
    double sum = 0;
    for (std::uint32_t d = 0; d < 6; ++d)
      sum += uniform({.seed = seed, .position = static_cast<std::uint32_t>(i), .draw = d});
    logits[i] = static_cast<float>((sum - 3) * spread);
  }
  return logits;
}

/// Draws many tokens and compares their frequencies with the probabilities: a chi-squared test with a fixed seed.
inline void expect_distribution(const std::vector<float>& logits, const SamplingParams& params,
                                const std::vector<double>& expected) {
  constexpr int kDraws = 20'000;
  std::vector<int> counts(logits.size());
  SamplerScratch scratch(static_cast<int>(logits.size()));
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const DrawKey key{.seed = 1234, .position = i};
    ++counts[static_cast<std::size_t>(sample(logits, static_cast<int>(logits.size()), params, key, scratch).token)];
  }
  double chi_squared = 0, rare_expected = 0, rare_count = 0;
  int cells = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double mean = expected[i] * kDraws;
    if (mean == 0) {
      ASSERT_EQ(counts[i], 0) << "token " << i << " was cut";
    }
    if (mean < 5) {
      rare_expected += mean;
      rare_count += counts[i];
      continue;
    }
    chi_squared += (counts[i] - mean) * (counts[i] - mean) / mean;
    ++cells;
  }
  if (rare_expected >= 5) {
    chi_squared += (rare_count - rare_expected) * (rare_count - rare_expected) / rare_expected;
    ++cells;
  }
  const double freedom = std::max(1, cells - 1);
  EXPECT_LT(chi_squared, freedom + 4 * std::sqrt(2 * freedom) + 4) << cells << " cells";  // about 4 standard deviations
}

}  // namespace octavo::test
