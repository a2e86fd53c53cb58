#include "sampler/logit_adjust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "sampler/sampler.h"
#include "sampler/softmax.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLowest = -std::numeric_limits<float>::max();

std::vector<float> adjust(const std::vector<float>& logits, const SamplingParams& params, const DrawContext& context) {
  LogitAdjuster adjuster(static_cast<int>(logits.size()));
  const std::span<const float> row = adjuster.adjust(logits, params, context);
  return {row.begin(), row.end()};
}

SampledToken draw(const std::vector<float>& logits, const SamplingParams& params, const DrawContext& context,
                  std::uint32_t position = 0) {
  SamplerScratch scratch(static_cast<int>(logits.size()));
  return sample(logits, static_cast<int>(logits.size()), params, {.position = position}, scratch, context);
}

// The header's comment, token by token.
std::vector<float> reference(std::vector<float> logits, const SamplingParams& params, const DrawContext& context) {
  const auto answer = context.tokens.subspan(static_cast<std::size_t>(context.prompt_tokens));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    const auto count = static_cast<float>(std::ranges::count(answer, token));
    float& logit = logits[i];
    if (std::ranges::find(context.tokens, token) != context.tokens.end()) {
      logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    }
    logit -= params.frequency_penalty * count;
    if (count > 0) logit -= params.presence_penalty;
    for (const auto& [id, bias] : params.logit_bias) {
      if (id == token) logit = bias == -100 ? kLowest : logit + bias;
    }
    if (std::ranges::find(context.forbidden, token) != context.forbidden.end()) logit = kLowest;
  }
  return logits;
}

TEST(LogitAdjust, NothingAskedForChangesNothing) {
  const std::vector<TokenId> tokens = {0, 1};
  EXPECT_FALSE(LogitAdjuster::changes({}, {.tokens = tokens, .prompt_tokens = 1}));
  EXPECT_TRUE(LogitAdjuster::changes({.repetition_penalty = 1.1F}, {}));
  EXPECT_TRUE(LogitAdjuster::changes({.frequency_penalty = -0.1F}, {}));
  EXPECT_TRUE(LogitAdjuster::changes({.presence_penalty = 0.1F}, {}));
  EXPECT_TRUE(LogitAdjuster::changes({.logit_bias = {{1, 0.5F}}}, {}));
  EXPECT_TRUE(LogitAdjuster::changes({}, {.forbidden = tokens}));
}

TEST(LogitAdjust, RepetitionPenaltyDividesPositiveLogitsOfPromptAndAnswerAndMultipliesNegativeOnes) {
  const std::vector<TokenId> tokens = {0, 1, 1, 2};
  EXPECT_THAT(adjust({4, -4, 0, 4, -4}, {.repetition_penalty = 2}, {.tokens = tokens, .prompt_tokens = 2}),
              ElementsAre(2, -8, 0, 4, -4));
}

TEST(LogitAdjust, FrequencyAndPresencePenaltiesLookAtTheAnswerOnly) {
  const std::vector<TokenId> tokens = {0, 0, 3, 1, 2, 1, 1};
  const DrawContext context{.tokens = tokens, .prompt_tokens = 3};
  EXPECT_THAT(adjust({9, 9, 9, 9}, {.frequency_penalty = 0.5F}, context), ElementsAre(9, 7.5F, 8.5F, 9));
  EXPECT_THAT(adjust({9, 9, 9, 9}, {.presence_penalty = 0.5F}, context), ElementsAre(9, 8.5F, 8.5F, 9));
  EXPECT_THAT(adjust({9, 9, 9, 9}, {.frequency_penalty = -1, .presence_penalty = -2}, context),
              ElementsAre(9, 14, 12, 9));
}

TEST(LogitAdjust, BiasIsAddedAfterThePenalties) {
  const std::vector<TokenId> tokens = {0};
  EXPECT_THAT(adjust({4, 4, -4}, {.repetition_penalty = 2, .logit_bias = {{0, 3.0F}, {2, 100.0F}, {2, 1.0F}}},
                     {.tokens = tokens}),
              ElementsAre(5, 4, 97));
}

TEST(LogitAdjust, TokensOfThePaddingAreIgnored) {
  const std::vector<TokenId> tokens = {5, 1}, forbidden = {7};
  EXPECT_THAT(adjust({4, 4}, {.repetition_penalty = 2, .presence_penalty = 1, .logit_bias = {{9, 3.0F}}},
                     {.tokens = tokens, .forbidden = forbidden}),
              ElementsAre(4, 1));
}

TEST(LogitAdjust, ABiasOfMinusHundredForbidsATokenHoweverLikely) {
  for (std::uint32_t i = 0; i < 50; ++i) {
    for (const float temperature : {0.0F, 1.0F, 100.0F, 1e38F}) {
      const SamplingParams params{.temperature = temperature, .logit_bias = {{1, -100.0F}}};
      EXPECT_NE(draw({0, 500, 0}, params, {}, i).token, 1) << temperature;
    }
  }
}

TEST(LogitAdjust, ForbiddenTokensAreNotDrawnWhateverTheirBias) {
  const std::vector<TokenId> forbidden = {0, 2};
  for (std::uint32_t i = 0; i < 50; ++i) {
    for (const SamplingParams& params :
         {SamplingParams{.temperature = 0, .logit_bias = {{0, 100.0F}}}, SamplingParams{.temperature = 3e38F},
          SamplingParams{.top_k = 3}, SamplingParams{.top_p = 0.99F, .logit_bias = {{2, 100.0F}}}}) {
      EXPECT_EQ(draw({5, -90, 5}, params, {.forbidden = forbidden}, i).token, 1);
    }
  }
}

TEST(LogitAdjust, NanAndInfiniteLogitsStayInBounds) {
  const std::vector<TokenId> tokens = {0, 1, 2, 3};
  const SamplingParams params{
      .repetition_penalty = 1.5F, .frequency_penalty = 2, .presence_penalty = 2, .logit_bias = {{0, 100.0F}}};
  for (std::uint32_t i = 0; i < 20; ++i)
    EXPECT_EQ(draw({kNan, -kInf, 1, kNan}, params, {.tokens = tokens}, i).token, 2);
  EXPECT_EQ(draw({kInf, -kInf, 1, kNan}, params, {.tokens = tokens}).token, 0);
}

TEST(LogitAdjust, GreedyAppliesPenaltiesAndTheLogprobIsThatOfTheUntouchedRow) {
  const std::vector<float> logits = {3, 2, 1};
  const std::vector<TokenId> tokens = {0};
  const SampledToken plain = draw(logits, {.temperature = 0}, {});
  const SampledToken penalized = draw(logits, {.temperature = 0, .repetition_penalty = 4}, {.tokens = tokens});
  EXPECT_EQ(plain.token, 0);
  EXPECT_EQ(penalized.token, 1);
  const double log_total = 3 + std::log(1 + std::exp(-1.0) + std::exp(-2.0));
  EXPECT_NEAR(penalized.logprob, 2 - log_total, 1e-6);
}

TEST(LogitAdjust, CutsLookAtTheAdjustedRow) {
  // Of the two most likely after the bias one is 4: top_k 2 keeps it and drops 1.
  std::set<TokenId> seen;
  for (std::uint32_t i = 0; i < 200; ++i) {
    seen.insert(draw({3, 2, 0, 0, 0}, {.top_k = 2, .logit_bias = {{4, 3.0F}}}, {}, i).token);
  }
  EXPECT_EQ(seen, (std::set<TokenId>{0, 4}));
}

TEST(LogitAdjust, TheRowIsLeftAsItWas) {
  const std::vector<float> logits = {3, 2, 1};
  std::vector<float> given = logits;
  const std::vector<TokenId> tokens = {0, 1};
  draw(given, {.repetition_penalty = 4, .logit_bias = {{0, -5.0F}}}, {.tokens = tokens});
  EXPECT_EQ(given, logits);
}

RC_GTEST_PROP(LogitAdjust, EqualsTheDefinitionWhateverWasAdjustedBefore, ()) {
  const int vocab_size = *rc::gen::inRange(1, 40);
  const auto token = rc::gen::inRange<TokenId>(0, static_cast<TokenId>(vocab_size));
  const auto logit =
      rc::gen::map(rc::gen::inRange(-500, 500), [](int value) { return static_cast<float>(value) / 16; });
  const auto penalty = rc::gen::map(rc::gen::inRange(-16, 17), [](int value) { return static_cast<float>(value) / 8; });
  LogitAdjuster adjuster(vocab_size);
  for (int round = 0; round < 3; ++round) {
    const auto logits = *rc::gen::container<std::vector<float>>(static_cast<std::size_t>(vocab_size), logit);
    const auto tokens = *rc::gen::container<std::vector<TokenId>>(token);
    const auto forbidden = *rc::gen::container<std::vector<TokenId>>(token);
    const int prompt_tokens = *rc::gen::inRange(0, static_cast<int>(tokens.size()) + 1);
    SamplingParams params;
    params.repetition_penalty = *rc::gen::element(1.0F, 0.5F, 1.1F, 2.0F);
    params.frequency_penalty = *penalty;
    params.presence_penalty = *penalty;
    const auto biased = *rc::gen::container<std::vector<TokenId>>(token);
    for (const TokenId id : biased) params.logit_bias.emplace_back(id, *rc::gen::element(-100.0F, -3.0F, 0.5F, 100.0F));
    const DrawContext context{.tokens = tokens, .prompt_tokens = prompt_tokens, .forbidden = forbidden};
    const std::span<const float> row = adjuster.adjust(logits, params, context);
    RC_ASSERT(std::vector<float>(row.begin(), row.end()) == reference(logits, params, context));
  }
}

TEST(LogitAdjust, PenaltiesLookAtTheirWindow) {
  const std::vector<TokenId> tokens = {0, 1, 2, 3, 3};
  const DrawContext context{.tokens = tokens, .prompt_tokens = 2};
  EXPECT_THAT(adjust({4, 4, 4, 4}, {.repetition_penalty = 2, .penalty_window = 3}, context), ElementsAre(4, 4, 2, 2));
  EXPECT_THAT(adjust({4, 4, 4, 4}, {.frequency_penalty = 1, .penalty_window = 1}, context), ElementsAre(4, 4, 4, 3));
  EXPECT_THAT(adjust({4, 4, 4, 4}, {.repetition_penalty = 2, .penalty_window = 99}, context), ElementsAre(2, 2, 2, 2));
}

TEST(LogitAdjust, OnlyAllowedTokensAreLeft) {
  EXPECT_THAT(adjust({1, 2, 3, 4}, {.allowed_tokens = {2, 0, 77, -1}}, {}), ElementsAre(1, kLowest, 3, kLowest));
  // A second call finds its marks gone.
  LogitAdjuster adjuster(3);
  (void)adjuster.adjust(std::vector<float>{1, 2, 3}, {.allowed_tokens = {0}}, {});
  const std::vector<float> logits = {1, 2, 3};
  const std::span<const float> row = adjuster.adjust(logits, {.allowed_tokens = {1}}, {});
  EXPECT_THAT(std::vector<float>(row.begin(), row.end()), ElementsAre(kLowest, 2, kLowest));
}

TEST(LogitAdjust, TheLastTokenOfABadWordIsForbiddenWhereTheAnswerHasTheOthers) {
  const std::vector<TokenId> tokens = {1, 2, 1};
  const SamplingParams params{.bad_words = {{3}, {1, 0}, {2, 1, 2}}};
  const DrawContext all_answer{.tokens = tokens, .prompt_tokens = 0}, last_only{.tokens = tokens, .prompt_tokens = 2};
  EXPECT_THAT(adjust({5, 5, 5, 5}, params, all_answer), ElementsAre(kLowest, 5, kLowest, kLowest));
  EXPECT_THAT(adjust({5, 5, 5, 5}, params, last_only), ElementsAre(kLowest, 5, 5, kLowest));
}

TEST(LogitAdjust, NothingIsDrawnThatAMaskDoesNotAllow) {
  const std::vector<std::uint32_t> allowed = {0b1010};
  for (const float temperature : {0.0F, 1.0F})
    for (std::uint32_t i = 0; i < 100; ++i) {
      const TokenId token = draw({50, 1, 60, 2, 70}, {.temperature = temperature}, {.allowed = allowed}, i).token;
      EXPECT_TRUE(token == 3 || (token == 1 && temperature > 0)) << token;
    }
}

TEST(LogitAdjust, BansThatLeaveNothingOfAMaskGiveWay) {
  const std::vector<std::uint32_t> allowed = {0b1010};
  const std::vector<TokenId> forbidden = {1, 3};
  EXPECT_THAT(adjust({5, 1, 6, 2}, {}, {.forbidden = forbidden, .allowed = allowed}),
              ElementsAre(kLowest, 1, kLowest, 2));
  for (const float logit : {-kInf, kNan})
    EXPECT_EQ(draw({5, logit, 6, logit}, {.temperature = 0}, {.allowed = allowed}).token, 1);
}

TEST(LogitAdjust, SuppressedTokensAreForbidden) {
  const std::vector<TokenId> suppressed = {1};
  EXPECT_THAT(adjust({5, 9, 5}, {}, {.suppressed = suppressed}), ElementsAre(5, kLowest, 5));
  EXPECT_EQ(draw({5, 9, 4}, {.temperature = 0}, {.suppressed = suppressed}).token, 0);
}

}  // namespace
}  // namespace octavo
