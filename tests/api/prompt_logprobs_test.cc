#include "api/call/prompt_logprobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double reference(const std::vector<float>& logits) {
  double max = -1e300, sum = 0;
  for (const float logit : logits) max = std::max(max, double{logit});
  for (const float logit : logits) sum += std::exp(double{logit} - max);
  return max + std::log(sum);
}

RC_GTEST_PROP(PromptLogprobs, LogSumExpIsTrueForAnySize, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 5000);
  const auto spread = *rc::gen::element(1, 10, 100, 1000);
  std::vector<float> logits;
  for (std::size_t i = 0; i < size; ++i) {
    const auto step = static_cast<unsigned>(i) * 2654435761U;
    logits.push_back(static_cast<float>(spread) * (static_cast<float>(step % 20001U) / 10000.0F - 1.0F));
  }
  RC_ASSERT(std::abs(log_sum_exp(logits) - reference(logits)) < 1e-5);
}

TEST(PromptLogprobs, LogitsThatAreNoNumbersCountAsTheSmallest) {
  EXPECT_NEAR(log_sum_exp(std::vector<float>{kNan, 1.0F, -kInf}), 1.0, 1e-6);
  EXPECT_TRUE(std::isfinite(log_sum_exp(std::vector<float>{kInf, 1.0F})));
  EXPECT_TRUE(std::isfinite(log_sum_exp(std::vector<float>{kNan, kNan})));
}

TEST(PromptLogprobs, ARowIsAboutTheTokenBehindIt) {
  PromptLogprobs logprobs({0, 2, 1}, {}, 3, 0);
  const std::vector<float> logits = {0, 1, 2,  // behind token 0
                                     3, 4, 6,  // behind token 2
                                     7, 8, 9};
  logprobs.add_rows(0, 3, logits);
  EXPECT_NEAR(logprobs.logprob(1), 2 - reference({0, 1, 2}), 1e-6);
  EXPECT_NEAR(logprobs.logprob(2), 4 - reference({3, 4, 6}), 1e-6);
  EXPECT_TRUE(logprobs.top(1, 20).empty());
}

TEST(PromptLogprobs, ComesInSlices) {
  const std::vector<float> logits = {0, 1, 2, 3, 4, 6};
  PromptLogprobs whole({0, 2, 1}, {}, 3, 2), sliced({0, 2, 1}, {}, 3, 2);
  whole.add_rows(0, 3, logits);
  sliced.add_rows(0, 3, std::span(logits).first(3));
  sliced.add_rows(1, 3, std::span(logits).last(3));
  for (const std::size_t position : {1U, 2U}) {
    EXPECT_EQ(whole.logprob(position), sliced.logprob(position));
    EXPECT_EQ(whole.top(position, 2)[0].token, sliced.top(position, 2)[0].token);
  }
}

TEST(PromptLogprobs, KeepsTheLikeliestInOrderAndTheLowerIdOfEquals) {
  PromptLogprobs logprobs({0, 0}, {}, 6, 3);
  logprobs.add_rows(0, 6, std::vector<float>{1, 5, 3, 5, kNan, 4});
  EXPECT_THAT(logprobs.top(1, 20), ElementsAre(Field(&TokenLogprob::token, 1), Field(&TokenLogprob::token, 3),
                                               Field(&TokenLogprob::token, 5)));
  EXPECT_EQ(logprobs.top(1, 20)[0].logprob, logprobs.top(1, 20)[1].logprob);
}

TEST(PromptLogprobs, ATokensRankIsItsPlaceAmongAllAndTheLowerIdOfEqualsGoesFirst) {
  PromptLogprobs logprobs({0, 3, 1, 4, 0}, {}, 6, 3);
  const std::vector<float> row = {1, 5, 3, 5, kNan, 4};
  for (int position = 0; position < 4; ++position) logprobs.add_rows(position, 6, row);
  EXPECT_EQ(logprobs.rank(1), 2);
  EXPECT_EQ(logprobs.rank(2), 1);
  EXPECT_EQ(logprobs.rank(3), 6);
  EXPECT_EQ(logprobs.rank(4), 5);
  EXPECT_EQ(logprobs.top(1, 1).size(), 1U);
}

// Readers of these numbers ask whether the token was the likeliest by comparing them for equality.
TEST(PromptLogprobs, ATokensValueIsTheSameBitsAloneAndAmongTheLikeliest) {
  PromptLogprobs logprobs({0, 1}, {}, 4, 1);
  logprobs.add_rows(0, 4, std::vector<float>{0.1F, 7.3F, 0.2F, -3.3F});
  EXPECT_EQ(logprobs.top(1, 20)[0].token, 1);
  EXPECT_EQ(logprobs.top(1, 20)[0].logprob, logprobs.logprob(1));
}

TEST(PromptLogprobs, PaddingOfTheVocabularyIsLeftOut) {
  PromptLogprobs logprobs({0, 1}, {}, 2, 2);
  logprobs.add_rows(0, 4, std::vector<float>{1, 2, 100, 100});
  EXPECT_NEAR(logprobs.logprob(1), 2 - reference({1, 2}), 1e-6);
  EXPECT_EQ(logprobs.top(1, 20)[0].token, 1);
}

TEST(PromptLogprobs, PlaceholdersOfPicturesHaveNone) {
  const std::vector<PromptPicture> pictures = {{.first = 1, .count = 2}};
  PromptLogprobs logprobs({0, 3, 3, 1}, pictures, 4, 1);
  const std::vector<float> rows(4 * 4, 0.5F);
  logprobs.add_rows(0, 4, rows);
  EXPECT_FALSE(logprobs.has(0)) << "nothing is before it";
  EXPECT_FALSE(logprobs.has(1));
  EXPECT_FALSE(logprobs.has(2));
  EXPECT_TRUE(logprobs.has(3));
}

}  // namespace
}  // namespace octavo
