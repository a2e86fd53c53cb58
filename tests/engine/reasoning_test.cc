// Reasoning in an engine's answers: apart from content, counted, and closed when its budget is spent. The answer is
// the same in company, in memory that is too small, and as each of several choices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/stop_reference.h"
#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::kTinyThink;
using test::kTinyThinkEnd;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using test::TestEngineOptions;
using ::testing::HasSubstr;

TestEngineOptions with_marks(TestEngineOptions options = {}) {
  options.tokenizer = test::reasoning_tokenizer;
  return options;
}

/// Characters are letters alone, so that none is begun and left.
Request reasoning_request(std::uint64_t seed, ReasoningParams reasoning, int max_tokens = 60) {
  Request request = make_request(6, max_tokens, seed);
  for (const TokenId token : test::kTinyEuro) request.sampling.logit_bias.emplace_back(token, -100.0F);
  request.reasoning = reasoning;
  return request;
}

/// The letters between marks, and those outside.
std::pair<std::string, std::string> split_tokens(const Request& request, std::span<const TokenId> tokens) {
  std::string content, reasoning;
  bool inside = request.reasoning.begins_inside;
  for (const TokenId token : tokens) {
    if (token == (inside ? kTinyThinkEnd : kTinyThink)) {
      inside = !inside;
    } else if (token == kTinyThinkEnd || token == kTinyThink) {
      (inside ? reasoning : content) += token == kTinyThink ? "<think>" : "</think>";
    } else if (token >= test::kTinyA) {
      (inside ? reasoning : content) += static_cast<char>('A' + token - test::kTinyA);
    }
  }
  return {content, reasoning};
}

TEST(Reasoning, ArrivesApartFromContentAndIsCounted) {
  int with_both = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Request request = reasoning_request(seed, {.mode = ReasoningMode::kSplit, .begins_inside = seed % 2 == 0});
    TestEngine engine(with_marks());
    int num_inside = 0;
    Answer answer;
    ASSERT_TRUE(engine->submit(request, [&](const TokenEvent& event) {
      answer.text += event.text;
      answer.reasoning += event.reasoning;
      if (event.token >= 0) answer.tokens.push_back(event.token);
      num_inside += event.is_reasoning;
      answer.stats = event.stats;
    }));
    engine->run();
    EXPECT_EQ(answer.tokens, reference_answer(request, 32).tokens);
    EXPECT_EQ(std::pair(answer.text, answer.reasoning), split_tokens(request, answer.tokens));
    EXPECT_EQ(answer.stats.reasoning_tokens, num_inside);
    with_both += !answer.text.empty() && !answer.reasoning.empty();
  }
  EXPECT_GT(with_both, 10);
}

TEST(Reasoning, PlainAnswersAreNotLookedAtAndThoseLeftInShowTheMarks) {
  for (const ReasoningMode mode : {ReasoningMode::kPlain, ReasoningMode::kLeftIn}) {
    const Request request = reasoning_request(2, {.mode = mode, .begins_inside = true});
    TestEngine engine(with_marks());
    const Answer answer = engine.run(request);
    EXPECT_EQ(answer.reasoning, "");
    EXPECT_THAT(answer.text, HasSubstr("</think>"));
    EXPECT_EQ(answer.stats.reasoning_tokens > 0, mode == ReasoningMode::kLeftIn);
  }
}

TEST(Reasoning, StopTextsAreLookedForInContentAlone) {
  int with_reasoning = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Request request = reasoning_request(seed, {.mode = ReasoningMode::kSplit, .begins_inside = true});
    TestEngine whole(with_marks()), cut(with_marks());
    const Answer all = whole.run(request);
    if (all.reasoning.empty() || all.text.size() < 3) continue;
    request.stop = {all.reasoning.substr(0, 2), all.text.substr(1, 2)};
    const Answer answer = cut.run(request);
    ASSERT_EQ(answer.finish, FinishReason::kStop) << seed;
    EXPECT_LT(answer.text.size(), all.text.size());
    EXPECT_TRUE(all.text.starts_with(answer.text));
    EXPECT_TRUE(all.reasoning.starts_with(answer.reasoning));
    EXPECT_FALSE(answer.reasoning.empty());
    ++with_reasoning;
  }
  EXPECT_GT(with_reasoning, 5);
}

TEST(Reasoning, ABudgetThatIsSpentClosesItByTheMarksTokens) {
  int closed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const int budget = static_cast<int>(seed % 9);
    const Request request =
        reasoning_request(seed, {.mode = ReasoningMode::kSplit, .begins_inside = seed % 4 != 0, .budget = budget});
    TestEngine engine(with_marks());
    const Answer answer = engine.run(request);
    const Answer expected = reference_answer(request, 32);
    EXPECT_EQ(answer.tokens, expected.tokens);
    EXPECT_EQ(answer.logprobs, expected.logprobs);
    EXPECT_EQ(std::pair(answer.text, answer.reasoning), split_tokens(request, answer.tokens));
    EXPECT_LE(answer.reasoning.size(), static_cast<std::size_t>(budget) * 8);
    EXPECT_EQ(answer.stats.generated_tokens, request.max_tokens);
    Request free = request;
    free.reasoning.budget = -1;
    closed += reference_answer(free, 32).tokens != expected.tokens;
  }
  EXPECT_GT(closed, 25);
}

TEST(Reasoning, ABudgetOfNoneClosesItAtOnce) {
  const Request request = reasoning_request(3, {.mode = ReasoningMode::kSplit, .begins_inside = true, .budget = 0});
  TestEngine engine(with_marks());
  const Answer answer = engine.run(request);
  EXPECT_EQ(answer.tokens.front(), kTinyThinkEnd);
  EXPECT_EQ(answer.reasoning, "");
}

TEST(Reasoning, ForcedTokensHaveTheModelsOwnLogProbabilities) {
  Request request = reasoning_request(5, {.mode = ReasoningMode::kSplit, .begins_inside = true, .budget = 0}, 1);
  request.sampling.logit_bias.emplace_back(kTinyThinkEnd, -100.0F);  // no ban holds them back
  request.sampling.allowed_tokens = {test::kTinyA};
  TestEngine engine(with_marks());
  const Answer answer = engine.run(request);
  std::vector<float> logits(32);
  constexpr int kWindows[] = {0};
  test::FakeRunner::fill_logits(
      test::row_state(kWindows, 5,
                      [&](std::size_t, int position) { return request.tokens[static_cast<std::size_t>(position)]; }),
      logits);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  EXPECT_EQ(answer.tokens, std::vector<TokenId>{kTinyThinkEnd});
  EXPECT_NEAR(answer.logprobs[0], logits[kTinyThinkEnd] - std::log(total), 1e-5);
}

TEST(Reasoning, ClosingWaitsForTheEndOfACharacter) {
  // The model would write the euro sign's bytes for ever.
  const auto next_byte = [](std::int32_t token, std::span<float> logits) {
    const TokenId next = token == test::kTinyEuro[0]   ? test::kTinyEuro[1]
                         : token == test::kTinyEuro[1] ? test::kTinyEuro[2]
                                                       : test::kTinyEuro[0];
    logits[static_cast<std::size_t>(next)] = 100;
  };
  for (int budget = 0; budget < 8; ++budget) {
    TestEngine engine(with_marks({.runner = {.edit = next_byte}}));
    Request request = make_request(4, 20);
    request.tokens.back() = test::kTinyA;
    request.reasoning = {.mode = ReasoningMode::kSplit, .begins_inside = true, .budget = budget};
    const Answer answer = engine.run(request);
    const int num_characters = (budget + 2) / 3;
    std::string expected;
    for (int i = 0; i < num_characters; ++i) expected += "\u20AC";
    EXPECT_EQ(answer.reasoning, expected) << budget;
    EXPECT_EQ(answer.tokens[static_cast<std::size_t>(num_characters) * 3], kTinyThinkEnd) << budget;
  }
}

TEST(Reasoning, ACharacterThatNeverEndsIsNotWaitedFor) {
  const auto begin_again = [](std::int32_t, std::span<float> logits) {
    logits[static_cast<std::size_t>(test::kTinyEuro[0])] = 100;
  };
  TestEngine engine(with_marks({.runner = {.edit = begin_again}}));
  Request request = make_request(4, 20);
  request.reasoning = {.mode = ReasoningMode::kSplit, .begins_inside = true, .budget = 2};
  const Answer answer = engine.run(request);
  EXPECT_EQ(answer.tokens[5], kTinyThinkEnd);
}

TEST(Reasoning, MarksOfSeveralTokensAreForcedOneAfterAnother) {
  TestEngineOptions options;
  options.tokenizer = test::text_reasoning_tokenizer;
  for (int budget = 0; budget < 5; ++budget) {
    TestEngine engine(options);
    const Request request =
        reasoning_request(8, {.mode = ReasoningMode::kSplit, .begins_inside = true, .budget = budget}, 30);
    const Answer answer = engine.run(request);
    const std::vector<TokenId> closing(answer.tokens.begin() + budget, answer.tokens.begin() + budget + 8);
    EXPECT_EQ(engine->text()->detokenize(closing), "[/THINK]");
    EXPECT_LE(answer.reasoning.size(), static_cast<std::size_t>(budget));
    EXPECT_EQ(answer.stats.reasoning_tokens, budget + 8);
    EXPECT_FALSE(answer.text.empty());
    EXPECT_THAT(answer.text, ::testing::Not(HasSubstr("THINK")));
  }
}

TEST(Reasoning, ALimitWithinReasoningLeavesNoContent) {
  Request request = reasoning_request(3, {.mode = ReasoningMode::kSplit, .begins_inside = true}, 4);
  request.sampling.logit_bias.emplace_back(kTinyThinkEnd, -100.0F);
  TestEngine engine(with_marks());
  const Answer answer = engine.run(request);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.text, "");
  EXPECT_FALSE(answer.reasoning.empty());
  EXPECT_EQ(answer.stats.reasoning_tokens, 4);
}

TEST(Reasoning, BudgetsGiveTheSameAnswerInCompanyAndThroughPreemption) {
  TestEngine engine(with_marks({.runner = {.num_blocks = 16}, .max_context = 64, .limits = {.max_step_tokens = 8}}));
  std::vector<std::pair<RequestId, Request>> submitted;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Request request = reasoning_request(
        seed, {.mode = ReasoningMode::kSplit, .begins_inside = true, .budget = static_cast<int>(seed)}, 30);
    request.num_choices = 1 + static_cast<int>(seed % 2);
    submitted.emplace_back(engine.submit(request), request);
  }
  engine->run();
  EXPECT_GT(engine->stats().preemptions, 0U);
  for (const auto& [id, request] : submitted) {
    for (int choice = 0; choice < request.num_choices; ++choice) {
      const Answer& answer = engine.answer(id, choice);
      EXPECT_TRUE(answer.same_tokens(reference_answer(request, 32, {}, choice)));
      EXPECT_EQ(std::pair(answer.text, answer.reasoning), split_tokens(request, answer.tokens));
    }
  }
}

TEST(Reasoning, WrongParametersNameTheirField) {
  TestEngine engine(with_marks()), plain;
  const auto refusal = [](TestEngine& with, ReasoningParams reasoning) {
    Request request = make_request(4, 4);
    request.reasoning = reasoning;
    return with.refusal(std::move(request));
  };
  EXPECT_THAT(refusal(engine, {.mode = ReasoningMode::kSplit, .budget = -2}), HasSubstr("reasoning.budget: found -2"));
  EXPECT_THAT(refusal(engine, {.budget = 5}), HasSubstr("reasoning.budget: found 5"));
  EXPECT_THAT(refusal(engine, {.mode = static_cast<ReasoningMode>(3)}), HasSubstr("reasoning.mode: found 3"));
  EXPECT_THAT(refusal(plain, {.mode = ReasoningMode::kSplit, .budget = 5}), HasSubstr("no marks"));
  EXPECT_EQ(refusal(plain, {.mode = ReasoningMode::kSplit}), "accepted");
  EXPECT_EQ(refusal(engine, {.mode = ReasoningMode::kLeftIn, .budget = 0}), "accepted");
}

}  // namespace
}  // namespace octavo
