#include "sampler/top_tokens.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sampler/sampler.h"
#include "sampler/softmax.h"

namespace octavo {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<TokenId> ids(std::span<const TokenLogprob> top) {
  std::vector<TokenId> result;
  for (const TokenLogprob& entry : top) result.push_back(entry.token);
  return result;
}

TEST(TopTokens, AreTheLikeliestInOrderAndTiesGoToTheLowestId) {
  std::vector<TokenLogprob> top(4);
  find_top_tokens(std::vector<float>{1, 5, 7, 5, 1, 5, 0}, 0, top);
  EXPECT_EQ(ids(top), (std::vector<TokenId>{2, 1, 3, 5}));
  EXPECT_EQ(top[0].logprob, 7);
  EXPECT_EQ(top[3].logprob, 5);
}

TEST(TopTokens, NanAndInfinitiesAreOrderedAsFiniteLogitSays) {
  std::vector<TokenLogprob> top(4);
  find_top_tokens(std::vector<float>{kNan, -kInf, 1, kInf}, 0, top);
  EXPECT_EQ(ids(top), (std::vector<TokenId>{3, 2, 0, 1}));
}

TEST(TopTokens, NoneAskedForIsNoneFound) { find_top_tokens(std::vector<float>{1}, 0, {}); }

TEST(TopTokens, OfASampledRowAreThoseOfTheUntouchedRowWithTheLogprobsThatDrawnTokensHave) {
  std::vector<float> logits(1000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 7919 % 1000) / 100;
  SamplerScratch scratch(1000);
  std::vector<TokenLogprob> plain(kMaxTopLogprobs), adjusted(kMaxTopLogprobs);
  constexpr int kNumTokens = 900;  // the rest is padding: in the sum, never in the list
  sample(logits, kNumTokens, {.temperature = 0.7F}, {}, scratch, {}, plain);
  sample(logits, kNumTokens, {.top_k = 1, .logit_bias = {{plain[0].token, -100.0F}}}, {}, scratch, {}, adjusted);
  EXPECT_EQ(ids(plain), ids(adjusted));
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const TokenLogprob& entry = plain[i];
    EXPECT_LT(entry.token, kNumTokens);
    EXPECT_NEAR(entry.logprob, logits[static_cast<std::size_t>(entry.token)] - std::log(total), 2e-6);
    EXPECT_EQ(entry.logprob, adjusted[i].logprob);
    const SamplingParams only{.temperature = 0, .logit_bias = {{entry.token, 100.0F}}};
    const SampledToken drawn = sample(logits, kNumTokens, only, {}, scratch);
    EXPECT_EQ(drawn.token, entry.token);
    EXPECT_EQ(drawn.logprob, entry.logprob);
  }
}

RC_GTEST_PROP(TopTokens, EqualAFullSort, ()) {
  // Few distinct values, so that ties are common, over sizes around the pieces that are looked at together.
  const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 800));
  const auto logits = *rc::gen::container<std::vector<float>>(
      size, rc::gen::map(rc::gen::inRange(-30, 30), [](int value) { return static_cast<float>(value) / 4; }));
  std::vector<TokenLogprob> top(std::min(size, static_cast<std::size_t>(*rc::gen::inRange(0, kMaxTopLogprobs + 1))));
  find_top_tokens(logits, 2.5, top);
  std::vector<TokenId> order(size);
  std::iota(order.begin(), order.end(), 0);
  const auto logit_of = [&](TokenId token) { return logits[static_cast<std::size_t>(token)]; };
  std::ranges::stable_sort(order, std::ranges::greater{}, logit_of);
  order.resize(top.size());
  RC_ASSERT(ids(top) == order);
  for (const TokenLogprob& entry : top) RC_ASSERT(entry.logprob == logit_of(entry.token) - 2.5F);
}

}  // namespace
}  // namespace octavo
