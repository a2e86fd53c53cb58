#include "sampler/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "sampler/sampler_cases.h"

namespace octavo {
namespace {

using test::random_logits;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SampledToken draw(const std::vector<float>& logits, const SamplingParams& params, std::uint32_t position = 0) {
  SamplerScratch scratch(static_cast<int>(logits.size()));
  return sample(logits, static_cast<int>(logits.size()), params, {.seed = params.seed, .position = position}, scratch);
}

// The definition of the cuts in float64, with a full sort: the probability of every token.
std::vector<double> reference(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
  if (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(params.top_k));
  }
  const double max = logits[order[0]];
  const auto weight = [&](std::size_t token, double temperature) {
    return std::exp((logits[token] - max) / temperature);
  };
  double total = 0;
  for (const std::size_t token : order) total += weight(token, 1);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < order.size() && (kept == 0 || sum < params.top_p * total)) sum += weight(order[kept++], 1);
  if (params.top_p < 1) order.resize(kept);
  std::erase_if(order, [&](std::size_t token) { return weight(token, 1) < params.min_p; });
  std::vector<double> probabilities(logits.size());
  if (params.temperature == 0) {
    probabilities[order[0]] = 1;
    return probabilities;
  }
  total = 0;
  for (const std::size_t token : order) total += weight(token, params.temperature);
  for (const std::size_t token : order) probabilities[token] = weight(token, params.temperature) / total;
  return probabilities;
}

void expect_distribution(const std::vector<float>& logits, const SamplingParams& params) {
  test::expect_distribution(logits, params, reference(logits, params));
}

TEST(Sampler, TemperatureAloneDrawsFromTheSoftmax) {
  for (const float temperature : {0.3F, 1.0F, 2.5F}) {
    expect_distribution(random_logits(300, 1, 2), {.temperature = temperature});
  }
}

TEST(Sampler, TopKDrawsFromTheKMostLikely) {
  for (const int k : {2, 7, 299}) expect_distribution(random_logits(300, 2, 2), {.temperature = 1.3F, .top_k = k});
}

TEST(Sampler, TopPDrawsFromTheFewestThatReachTheSum) {
  for (const float p : {0.05F, 0.5F, 0.95F}) {
    expect_distribution(random_logits(300, 3, 2), {.temperature = 0.9F, .top_p = p});
  }
}

TEST(Sampler, MinPDropsWhatIsFarLessLikelyThanTheBest) {
  for (const float p : {0.02F, 0.3F}) expect_distribution(random_logits(300, 4, 2), {.min_p = p});
}

TEST(Sampler, AllCutsTogetherMatchTheReference) {
  expect_distribution(random_logits(1000, 5, 1.5), {.temperature = 0.7F, .top_k = 40, .top_p = 0.9F, .min_p = 0.05F});
  expect_distribution(random_logits(1000, 6, 1.0), {.temperature = 1.5F, .top_k = 200, .top_p = 0.7F, .min_p = 0.01F});
}

TEST(Sampler, TopPIsRenormalizedOverTheSurvivorsOfTopK) {
  // Of the best two (0.4 and 0.3 of all) the first alone has 0.57: top_p 0.5 keeps it alone, over all it would keep
  // two.
  const std::vector<float> logits = {std::log(0.4F), std::log(0.3F), std::log(0.2F), std::log(0.1F)};
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(draw(logits, {.top_k = 2, .top_p = 0.5F}, i).token, 0);
  std::set<TokenId> seen;
  for (std::uint32_t i = 0; i < 100; ++i) seen.insert(draw(logits, {.top_p = 0.5F}, i).token);
  EXPECT_EQ(seen, (std::set<TokenId>{0, 1}));
}

TEST(Sampler, GreedyTemperatureZeroAndTopKOneAgree) {
  const std::vector<float> logits = random_logits(5000, 7, 1);
  const TokenId best = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(draw(logits, {.temperature = 0}, i).token, best);
    EXPECT_EQ(draw(logits, {.temperature = 5, .top_k = 1}, i).token, best);
    EXPECT_EQ(draw(logits, {.temperature = 5, .top_p = 0}, i).token, best);
    EXPECT_EQ(draw(logits, {.temperature = 1e-30F}, i).token, best);
    EXPECT_EQ(draw(logits, {.temperature = 3, .min_p = 1}, i).token, best);
  }
}

TEST(Sampler, TiesGoToTheLowestId) {
  const std::vector<float> logits = {0, 3, 3, 3, 1};
  EXPECT_EQ(draw(logits, {.temperature = 0}).token, 1);
  std::set<TokenId> seen;
  for (std::uint32_t i = 0; i < 200; ++i) seen.insert(draw(logits, {.top_k = 2}, i).token);
  EXPECT_EQ(seen, (std::set<TokenId>{1, 2}));
  seen.clear();
  for (std::uint32_t i = 0; i < 200; ++i) seen.insert(draw(logits, {.top_p = 0.6F}, i).token);
  EXPECT_EQ(seen, (std::set<TokenId>{1, 2}));
}

TEST(Sampler, LogprobIsTheLogSoftmaxOfTheUntouchedRow) {
  const std::vector<float> logits = random_logits(3000, 8, 3);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  for (const SamplingParams& params : {SamplingParams{}, SamplingParams{.temperature = 0},
                                       SamplingParams{.temperature = 0.5F, .top_k = 20, .top_p = 0.8F}}) {
    const SampledToken token = draw(logits, params);
    EXPECT_NEAR(token.logprob, logits[static_cast<std::size_t>(token.token)] - std::log(total), 2e-6);
  }
}

TEST(Sampler, ALogprobThatNobodyWantsIsNoNumberAndTheTokenIsTheSame) {
  const std::vector<float> logits = random_logits(3000, 8, 3);
  const std::vector<std::uint32_t> allowed = {0xFFFFFFFF, 7};
  SamplerScratch scratch(3000);
  for (const SamplingParams& params :
       {SamplingParams{}, SamplingParams{.temperature = 0}, SamplingParams{.temperature = 0.5F, .top_k = 20},
        SamplingParams{.temperature = 0, .logit_bias = {{7, 20.0F}}}, SamplingParams{.mirostat = {.version = 2}}}) {
    for (DrawContext context : {DrawContext{.surprise_bound = 8}, DrawContext{.forced = 5},
                                DrawContext{.allowed = allowed, .surprise_bound = 8},
                                DrawContext{.allowed = allowed, .logprobs_of_allowed = true, .surprise_bound = 8}}) {
      const SampledToken weighed = sample(logits, 3000, params, {.seed = 3}, scratch, context);
      context.wants_logprob = false;
      const SampledToken token = sample(logits, 3000, params, {.seed = 3}, scratch, context);
      EXPECT_EQ(token.token, weighed.token);
      EXPECT_EQ(token.surprise_bound, weighed.surprise_bound);
      EXPECT_TRUE(std::isnan(token.logprob));
      EXPECT_FALSE(std::isnan(weighed.logprob));
    }
  }
}

TEST(Sampler, PaddingOfTheVocabularyIsNeverDrawnButCountsInTheLogprob) {
  std::vector<float> logits(20, 0.0F);
  std::fill(logits.begin() + 10, logits.end(), 9.0F);
  SamplerScratch scratch(20);
  for (std::uint32_t i = 0; i < 100; ++i) {
    for (const SamplingParams& params :
         {SamplingParams{}, SamplingParams{.temperature = 0}, SamplingParams{.top_k = 15}}) {
      const SampledToken token = sample(logits, 10, params, {.position = i}, scratch);
      EXPECT_LT(token.token, 10);
      EXPECT_NEAR(token.logprob, -std::log(10 + 10 * std::exp(9.0)), 1e-5);
    }
  }
}

TEST(Sampler, NanAndInfiniteLogitsDoNotCrashAndAreNotPreferred) {
  const SamplingParams all_cuts{.temperature = 0.8F, .top_k = 5, .top_p = 0.9F, .min_p = 0.01F};
  for (const SamplingParams& params : {SamplingParams{}, SamplingParams{.temperature = 0}, all_cuts}) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      EXPECT_EQ(draw({kNan, 1, -kInf, kNan}, params, i).token, 1);
      EXPECT_EQ(draw({0, kInf, 50, kNan}, params, i).token, 1);
      const SampledToken hopeless = draw({kNan, -kInf, kNan}, params, i);
      EXPECT_TRUE(hopeless.token >= 0 && hopeless.token < 3);
      EXPECT_FALSE(std::isnan(hopeless.logprob));
    }
  }
}

TEST(Sampler, TokensOfZeroProbabilityAreNeverDrawn) {
  std::vector<float> logits(1000, -kInf);
  logits[517] = 0;
  logits[999] = -1;
  std::set<TokenId> seen;
  for (std::uint32_t i = 0; i < 300; ++i) seen.insert(draw(logits, {.temperature = 10}, i).token);
  EXPECT_EQ(seen, (std::set<TokenId>{517, 999}));
}

TEST(Sampler, SameKeyGivesTheSameTokenWhateverWasDrawnBefore) {
  const std::vector<float> logits = random_logits(2000, 9, 1), others = random_logits(2000, 10, 1);
  const SamplingParams params{.temperature = 1.2F, .top_k = 500, .top_p = 0.95F, .min_p = 0.001F};
  SamplerScratch scratch(2000);
  std::vector<TokenId> forwards, backwards;
  for (std::uint32_t i = 0; i < 50; ++i)
    forwards.push_back(sample(logits, 2000, params, {.position = i}, scratch).token);
  for (std::uint32_t i = 50; i-- > 0;) {
    (void)sample(others, 1999, {.temperature = 3}, {.seed = 5, .position = i}, scratch);
    backwards.push_back(sample(logits, 2000, params, {.position = i}, scratch).token);
  }
  std::ranges::reverse(backwards);
  EXPECT_EQ(forwards, backwards);
}

TEST(Sampler, EqualLogitsOfALargeVocabularyAreDrawnFromEndToEnd) {
  const std::vector<float> logits(100'000, 2.0F);
  SamplerScratch scratch(100'000);
  double sum = 0;
  for (std::uint32_t i = 0; i < 200; ++i) sum += sample(logits, 100'000, {}, {.position = i}, scratch).token;
  EXPECT_NEAR(sum / 200 / 100'000, 0.5, 0.1);
  const SampledToken token = sample(logits, 100'000, {.top_p = 0.25F}, {}, scratch);
  EXPECT_LT(token.token, 25'001);
}

RC_GTEST_PROP(Sampler, ATighterCutKeepsASubset, ()) {
  // A token drawn under tight cuts is one that the looser ones allow with the reference, whatever the draw.
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const std::vector<float> logits = random_logits(static_cast<std::size_t>(*rc::gen::inRange(1, 400)), seed, 1.5);
  SamplingParams params;
  params.temperature = static_cast<float>(*rc::gen::inRange(1, 300)) / 100;
  params.top_k = *rc::gen::inRange(0, 50);
  params.top_p = static_cast<float>(*rc::gen::inRange(0, 1001)) / 1000;
  params.min_p = static_cast<float>(*rc::gen::inRange(0, 1001)) / 1000;
  const std::vector<double> all = reference(logits, params);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const auto token = static_cast<std::size_t>(draw(logits, params, i).token);
    if (all[token] > 0) continue;
    // Only a token on the very edge of a cut may differ, by the rounding of float weights.
    SamplingParams looser = params;
    looser.top_p = std::min(1.0F, params.top_p + 1e-5F);
    looser.min_p = params.min_p * (1 - 1e-5F);
    RC_ASSERT(reference(logits, looser)[token] > 0);
  }
}

TEST(Sampler, LogprobsOfAllowedTokensSumToOneAmongThem) {
  const std::vector<float> logits = {3, 1, 2, 5, -1};
  const std::vector<std::uint32_t> allowed = {0b10110};
  std::vector<TokenLogprob> top(4);
  SamplerScratch scratch(5);
  const SampledToken token =
      sample(logits, 5, {.temperature = 0}, {}, scratch, {.allowed = allowed, .logprobs_of_allowed = true}, top);
  EXPECT_EQ(token.token, 2);
  const double total = std::exp(1.0) + std::exp(2.0) + std::exp(-1.0);
  EXPECT_NEAR(token.logprob, 2 - std::log(total), 1e-6);
  EXPECT_EQ(top[0].token, 2);
  EXPECT_EQ(top[0].logprob, token.logprob);
  EXPECT_EQ(top[1].token, 1);
  EXPECT_NEAR(top[2].logprob, -1 - std::log(total), 1e-6);
  EXPECT_EQ(top[3].token, -1) << "there are three";
}

TEST(Sampler, LogprobsOfAllowedTokensAreTheModelsForOneThatIsForcedAgainstThem) {
  const std::vector<float> logits = {3, 1};
  const std::vector<std::uint32_t> allowed = {0b10};
  SamplerScratch scratch(2);
  const DrawContext context{.forced = 0, .allowed = allowed, .logprobs_of_allowed = true};
  EXPECT_NEAR(sample(logits, 2, {}, {}, scratch, context).logprob, -std::log1p(std::exp(-2.0)), 1e-6);
}

}  // namespace
}  // namespace octavo
