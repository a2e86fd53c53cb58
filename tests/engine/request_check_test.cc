#include "engine/request_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace octavo {
namespace {

using ::testing::StartsWith;

const ModelTokenizer& no_words() {
  static const ModelTokenizer words;
  return words;
}

RequestLimits limits() {
  return {.max_context = 16, .vocab_size = 100, .num_drawable = 90, .max_choices = 4, .words = no_words()};
}

Request request_of(int num_tokens) {
  Request request;
  request.tokens.assign(static_cast<unsigned>(num_tokens), 1);
  return request;
}

TEST(CheckRequest, GivesTheTokensToGenerateAtMost) {
  Request request = request_of(6);
  request.max_tokens = 10;
  EXPECT_EQ(check_request(request, limits()).value(), 10);
  request.max_tokens = 0;
  EXPECT_EQ(check_request(request, limits()).value(), 10) << "as many as the context holds";
  request.max_tokens = -1;
  request.on_prompt_logits = [](int, std::span<const float>) {};
  EXPECT_EQ(check_request(request, limits()).value(), 0);
}

TEST(CheckRequest, WhatDoesNotFitTheContextIsAnErrorOfItsOwnKind) {
  EXPECT_EQ(check_request(request_of(16), limits()).error().kind, ErrorKind::kContextOverflow)
      << "there is no room for a token of an answer";
  EXPECT_TRUE(check_request(request_of(15), limits()));
  Request request = request_of(6);
  request.max_tokens = 11;
  EXPECT_EQ(check_request(request, limits()).error().kind, ErrorKind::kContextOverflow);
}

TEST(CheckRequest, ErrorsNameTheFieldAndWhatWasFound) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(Request&)>>> cases = {
      {"tokens: found none", [](Request& r) { r.tokens.clear(); }},
      {"tokens[1]: found 100", [](Request& r) { r.tokens[1] = 100; }},
      {"tokens[0]: found -1", [](Request& r) { r.tokens[0] = -1; }},
      {"stop_tokens[0]: found 100", [](Request& r) { r.stop_tokens = {100}; }},
      {"max_tokens: found -2", [](Request& r) { r.max_tokens = -2; }},
      {"max_tokens: found -1 (generate nothing) without on_prompt_logits", [](Request& r) { r.max_tokens = -1; }},
      {"logit_bias: found token 100", [](Request& r) { r.sampling.logit_bias = {{100, 1.0F}}; }},
      {"num_choices: found 0", [](Request& r) { r.num_choices = 0; }},
      {"num_choices: found 5, expected 1 to 4", [](Request& r) { r.num_choices = 5; }},
      {"first_choice: found 4294967295", [](Request& r) { r.num_choices = 2, r.first_choice = 0xFFFFFFFF; }},
      {"min_tokens: found 11", [](Request& r) { r.min_tokens = 11; }},
      {"top_logprobs: found -1", [](Request& r) { r.top_logprobs = -1; }},
      {"top_logprobs: found 1", [](Request& r) { r.top_logprobs = 1, r.logprobs = false; }},
      {"priority: found", [](Request& r) { r.priority = kMaxPriority + 1; }},
      {"deadline_s: found nan", [&](Request& r) { r.deadline_s = kNan; }},
      {"owner: found", [](Request& r) { r.owner.assign(kMaxOwnerBytes + 1, 'x'); }},
      {"reasoning.budget: found -2", [](Request& r) { r.reasoning.budget = -2; }},
      {"reasoning.budget: found 4 where nobody looks",
       [](Request& r) { r.reasoning = {.mode = ReasoningMode::kPlain, .budget = 4}; }},
      {"reasoning.budget: found 4, expected -1: this model has no marks",
       [](Request& r) { r.reasoning = {.mode = ReasoningMode::kSplit, .budget = 4}; }},
  };
  for (const auto& [expected, change] : cases) {
    Request request = request_of(6);
    change(request);
    const Result<int> checked = check_request(request, limits());
    ASSERT_FALSE(checked) << expected;
    EXPECT_THAT(checked.error().message, StartsWith(expected));
  }
}

TEST(CheckRequest, AStopTextNeedsWords) {
  Request request = request_of(6);
  request.stop = {"end"};
  const Result<int> checked = check_request(request, limits());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kNoWords);
  EXPECT_THAT(checked.error().message, StartsWith("stop: found 1 texts, expected none"));
}

TEST(CheckRequest, TheLastChoiceHasANumber) {
  Request request = request_of(6);
  request.num_choices = 2;
  request.first_choice = 0xFFFFFFFE;
  EXPECT_TRUE(check_request(request, limits()));
}

}  // namespace
}  // namespace octavo
