// Constrained answers of an engine: each fulfils its constraint or is a beginning of a text that does, is the same in
// company and on any number of threads, and begins behind the reasoning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "constraint/masks/token_masks.h"
#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::make_request;
using test::TestEngine;
using test::TestEngineOptions;
using ::testing::HasSubstr;

std::shared_ptr<const Constraint> compile(TestEngine& engine, std::string regex) {
  return engine->text()->compile_constraint({.kind = ConstraintKind::kRegex, .text = std::move(regex)}).value();
}

/// Ends where the model says so.
Request constrained_request(TestEngine& engine, std::string regex, std::uint64_t seed, int max_tokens = 60) {
  Request request = make_request(6, max_tokens, seed);
  request.ignore_eos = false;
  request.constraint = compile(engine, std::move(regex));
  return request;
}

// Letters, and a character of three tokens.
constexpr const char* kPattern = "([A-C]{2,5}\u20AC)+D?";

TEST(Constraint, EveryAnswerMatchesAndEndsWhereItMay) {
  TestEngine engine;
  int num_stopped = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Request request = constrained_request(engine, kPattern, seed);
    request.sampling.temperature = seed % 4 == 0 ? 0.0F : 1.5F;
    const Answer answer = engine.run(std::move(request));
    if (answer.finish == FinishReason::kStop) {
      EXPECT_TRUE(std::regex_match(answer.text, std::regex("([A-C]{2,5}\xE2\x82\xAC)+D?"))) << answer.text;
      ++num_stopped;
    } else {
      EXPECT_EQ(answer.finish, FinishReason::kLength);
      EXPECT_EQ(answer.text.find_first_not_of("ABCD\xE2\x82\xAC\xEF\xBF\xBD"), std::string::npos) << answer.text;
    }
  }
  EXPECT_GT(num_stopped, 10);
}

TEST(Constraint, AnswersAreTheSameAloneAndInCompanyOnAnyNumberOfThreads) {
  std::vector<Answer> alone;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    TestEngine engine({.num_threads = 1});
    alone.push_back(engine.run(constrained_request(engine, seed % 3 == 0 ? "A+B" : kPattern, seed)));
  }
  TestEngine engine({.num_threads = 3});
  std::vector<RequestId> ids;
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    ids.push_back(engine.submit(constrained_request(engine, seed % 3 == 0 ? "A+B" : kPattern, seed)));
  engine->run();
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_TRUE(engine.answer(ids[i]).same_tokens(alone[i])) << i;
}

TEST(Constraint, LogProbabilitiesAreTheModels) {
  TestEngine engine;
  Request free = make_request(6, 1, 3);
  free.sampling.logit_bias = {{test::kTinyA, 100.0F}};
  Request request = make_request(6, 1, 3);
  request.constraint = compile(engine, "A");
  const Answer forced = engine.run(std::move(free));
  const Answer answer = engine.run(std::move(request));
  EXPECT_EQ(forced.tokens, answer.tokens);
  EXPECT_EQ(forced.logprobs, answer.logprobs);
}

TEST(Constraint, BeginsBehindTheReasoningWhichCannotEndTheAnswer) {
  int num_reasoned = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    TestEngineOptions options;
    options.tokenizer = test::reasoning_tokenizer;
    TestEngine engine(std::move(options));
    Request request = constrained_request(engine, "AB", seed);
    request.reasoning = {.mode = ReasoningMode::kSplit, .begins_inside = seed % 2 == 0, .budget = 5};
    const Answer answer = engine.run(std::move(request));
    EXPECT_EQ(answer.text, "AB");
    EXPECT_EQ(answer.finish, FinishReason::kStop);
    num_reasoned += answer.reasoning.empty() ? 0 : 1;
    if (seed % 2 == 1) {
      EXPECT_TRUE(answer.tokens[0] == test::kTinyA || answer.tokens[0] == test::kTinyThink);
    }
  }
  EXPECT_GT(num_reasoned, 10);
}

TEST(Constraint, BansGiveWayWhereTheyWouldLeaveNothing) {
  TestEngine engine;
  Request request = constrained_request(engine, "AB", 1);
  request.min_tokens = 10;
  request.sampling.logit_bias = {{test::kTinyA, -100.0F}};
  request.sampling.allowed_tokens = {test::kTinyA + 4};
  const Answer answer = engine.run(std::move(request));
  EXPECT_EQ(answer.text, "AB");
}

// A choice of two letters, then text that leaves none.
constexpr const char* kForcedPattern = "([AB]CDEFGHIJ[KL]MNO){2}P[QR]";

TEST(Constraint, ForcedTokensFollowWithoutADrawAndAreTheSame) {
  for (const int max_step_tokens : {512, 3}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      std::vector<Answer> answers;
      std::vector<std::uint64_t> steps;
      for (const bool logprobs : {true, false}) {
        TestEngineOptions options;
        options.limits.max_step_tokens = max_step_tokens;
        TestEngine engine(std::move(options));
        Request request = constrained_request(engine, kForcedPattern, seed, seed % 5 == 0 ? 17 : 60);
        request.logprobs = logprobs;
        if (seed % 3 == 0) request.stop = {"HIJ"};
        answers.push_back(engine.run(std::move(request)));
        steps.push_back(engine->stats().steps);
      }
      EXPECT_EQ(answers[0].tokens, answers[1].tokens);
      EXPECT_EQ(answers[0].text, answers[1].text);
      EXPECT_EQ(answers[0].finish, answers[1].finish);
      EXPECT_LT(steps[1] + 2, steps[0]) << "seed " << seed;
      const auto drawn = [](const Answer& answer) {
        return std::ranges::count_if(answer.logprobs, [](float x) { return !std::isnan(x); });
      };
      EXPECT_EQ(drawn(answers[0]), static_cast<std::ptrdiff_t>(answers[0].tokens.size()));
      EXPECT_EQ(drawn(answers[1]), 0);
    }
  }
}

TEST(Constraint, ForcedTokensAreTheSameInCompanyWithChoicesAndWithoutRoom) {
  using Tokens = std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<TokenId>>;
  const auto tokens_of = [](int num_blocks, bool logprobs) {
    TestEngineOptions options;
    options.runner.num_blocks = num_blocks;
    options.max_context = 64;
    TestEngine engine(std::move(options));
    Tokens tokens;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      Request request = constrained_request(engine, seed % 4 == 0 ? kPattern : kForcedPattern, seed, 50);
      request.logprobs = logprobs;
      request.num_choices = seed % 3 == 0 ? 3 : 1;
      request.sampling.mirostat.version = seed % 5 == 0 ? 2 : 0;
      EXPECT_TRUE(engine->submit(request, [&tokens, seed](const TokenEvent& event) {
        if (event.token >= 0) tokens[{seed, event.choice}].push_back(event.token);
      }));
    }
    engine->run();
    return std::pair(tokens, engine->stats().preemptions);
  };
  const Tokens expected = tokens_of(1000, true).first;
  EXPECT_EQ(expected.size(), 12U + 4 * 2);
  EXPECT_EQ(tokens_of(1000, false), std::pair(expected, std::uint64_t{0}));
  const auto [cramped, preemptions] = tokens_of(16, false);
  EXPECT_EQ(cramped, expected);
  EXPECT_GT(preemptions, 0U);
}

TEST(Constraint, ForcedTokensPassNoPlaceWhereAStateIsKept) {
  std::vector<Answer> answers;
  std::vector<int> checkpoints;
  for (const bool logprobs : {true, false}) {
    TestEngineOptions options;
    options.runner.windows = {test::kRecurrent, 0};
    TestEngine engine(std::move(options));
    Request request = constrained_request(engine, kForcedPattern, 3);
    request.logprobs = logprobs;
    answers.push_back(engine.run(std::move(request)));
    checkpoints.push_back(engine->stats().kv.checkpoints);
  }
  EXPECT_EQ(answers[0].tokens, answers[1].tokens);
  EXPECT_EQ(checkpoints[0], checkpoints[1]);
  EXPECT_GT(checkpoints[0], 2);
}

TEST(Constraint, EveryChoiceHasItsOwnPlaceInIt) {
  TestEngine engine;
  Request request = constrained_request(engine, "[A-Z]{3}", 5);
  request.num_choices = 4;
  std::vector<std::string> texts(4);
  ASSERT_TRUE(engine->submit(request, [&](const TokenEvent& event) { texts[event.choice] += event.text; }));
  engine->run();
  for (const std::string& text : texts) EXPECT_EQ(text.size(), 3U) << text;
}

TEST(Constraint, ThatTheWordsCannotWriteIsNotCompiled) {
  TestEngine engine;
  const auto compiled = engine->text()->compile_constraint({.kind = ConstraintKind::kRegex, .text = "A\u00E9"}, {});
  ASSERT_FALSE(compiled.has_value());
  EXPECT_THAT(compiled.error().message, testing::HasSubstr("no token of its vocabulary has the byte 0xC3"));
}

TEST(Constraint, ThatNoTokenGoesOnWithEndsTheAnswerThere) {
  TestEngineOptions options;
  options.tokenizer = [](int size) {
    test::TinyVocab vocab(size);
    vocab.set(test::kTinyEuro[0], "\u00C3\u00A9B", 1);  // the only token with these bytes has more behind them
    return vocab.load();
  };
  TestEngine engine(std::move(options));
  const Answer answer = engine.run(constrained_request(engine, "A\u00E9", 1));
  EXPECT_EQ(answer.finish, FinishReason::kConstraint);
  EXPECT_THAT(answer.stats.error, HasSubstr("that no token of the model's vocabulary can go on with"));
  EXPECT_EQ(answer.text, "A");
}

/// Five letters, then so many ways of reading the same that they are not followed.
std::string ambiguous_behind_five() {
  std::string pattern = "[A-D]{5}(?:";
  for (int i = 0; i < 9000; ++i) pattern += "A*B|";
  return pattern + "C)";
}

TEST(Constraint, AnAnswerEndsByItsWorkAtTheSameTokenAloneAndInCompany) {
  TestEngine alone({.num_threads = 1});
  const Answer expected = alone.run(constrained_request(alone, ambiguous_behind_five(), 7));
  EXPECT_EQ(expected.finish, FinishReason::kConstraint);
  EXPECT_LE(expected.tokens.size(), 5U);
  EXPECT_THAT(expected.stats.error, HasSubstr("the regular expression '[A-D]{5}(?:A*B|"));
  EXPECT_THAT(expected.stats.error, HasSubstr(std::to_string(TokenMasks::kMaxWork)));

  TestEngine engine({.num_threads = 3});
  std::vector<RequestId> ids, others;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    ids.push_back(engine.submit(constrained_request(engine, ambiguous_behind_five(), 7)));
    others.push_back(engine.submit(constrained_request(engine, kPattern, seed)));
  }
  engine->run();
  for (const RequestId id : ids) {
    EXPECT_TRUE(engine.answer(id).same_tokens(expected));
    EXPECT_EQ(engine.answer(id).finish, FinishReason::kConstraint);
    EXPECT_EQ(engine.answer(id).stats.error, expected.stats.error);
  }
  for (const RequestId id : others) EXPECT_NE(engine.answer(id).finish, FinishReason::kConstraint);
}

TEST(Constraint, OfAnotherEngineIsRefused) {
  TestEngine engine, other;
  EXPECT_THAT(engine.refusal(constrained_request(other, "A", 1)), HasSubstr("constraint: found one of another engine"));
  const auto wrong = engine->text()->compile_constraint({.text = "("});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("not closed"));
}

TEST(Constraint, LogprobsMayBeThoseAmongTheAllowedTokens) {
  TestEngine engine;
  Request request = constrained_request(engine, "[AB]{8}", 3);
  request.top_logprobs = 5;
  request.logprobs_after_mask = true;
  int num_tokens = 0;
  const auto id = engine->submit(std::move(request), [&num_tokens](const TokenEvent& event) {
    if (event.token < 0 || event.text.empty()) return;
    ++num_tokens;
    ASSERT_EQ(event.top_logprobs.size(), 2U);
    const double sum = std::exp(event.top_logprobs[0].logprob) + std::exp(event.top_logprobs[1].logprob);
    EXPECT_NEAR(sum, 1, 1e-5);
  });
  ASSERT_TRUE(id);
  engine->run();
  EXPECT_EQ(num_tokens, 8);
}

}  // namespace
}  // namespace octavo
