// An answer that broke off goes on elsewhere: given the tokens that it had, the rest is what it would have been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::kRecurrent;
using test::make_request;
using test::TestEngine;
using test::TestEngineOptions;
using ::testing::HasSubstr;

/// The request again, with the first `count` tokens of its answer.
Request resumed(const Request& request, const Answer& whole, std::size_t count) {
  Request again = request;
  again.resumed_tokens.assign(whole.tokens.begin(), whole.tokens.begin() + static_cast<std::ptrdiff_t>(count));
  return again;
}

void expect_same_end(const Answer& joined, const Answer& whole, std::size_t count) {
  EXPECT_EQ(joined.tokens, whole.tokens) << count;
  EXPECT_EQ(joined.text, whole.text) << count;
  EXPECT_EQ(joined.reasoning, whole.reasoning) << count;
  EXPECT_EQ(joined.finish, whole.finish) << count;
  EXPECT_EQ(joined.stats.generated_tokens, whole.stats.generated_tokens);
  EXPECT_EQ(joined.stats.reasoning_tokens, whole.stats.reasoning_tokens);
  EXPECT_EQ(joined.stats.prompt_tokens, whole.stats.prompt_tokens);
  EXPECT_EQ(joined.stats.stop_text, whole.stats.stop_text);
  for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(std::isnan(joined.logprobs[i]));
  for (std::size_t i = count; i < whole.tokens.size(); ++i) EXPECT_EQ(joined.logprobs[i], whole.logprobs[i]) << i;
}

struct Resumed : testing::TestWithParam<std::vector<int>> {
  TestEngineOptions options() const { return {.runner = {.windows = GetParam()}}; }
};

INSTANTIATE_TEST_SUITE_P(Layouts, Resumed,
                         testing::Values(std::vector{0}, std::vector{0, 6}, std::vector{kRecurrent, 0}),
                         [](const auto& tested) { return "Number" + std::to_string(tested.index); });

TEST_P(Resumed, AnAnswerGoesOnFromEachOfItsTokens) {
  Request request = make_request(10, 20);
  request.sampling.temperature = 1;
  request.sampling.repetition_penalty = 1.3F;
  const Answer whole = TestEngine(options()).run(request);
  ASSERT_EQ(whole.tokens.size(), 20U);
  for (std::size_t count = 1; count < whole.tokens.size(); ++count) {
    TestEngine other(options());
    expect_same_end(other.run(resumed(request, whole, count)), whole, count);
    const std::size_t cuts = GetParam().front() == kRecurrent ? 1 : 0;  // of the prompt, where a state is kept
    EXPECT_LE(other->stats().steps, 20 - count + cuts) << "the given tokens are read with the prompt";
    EXPECT_TRUE(other.all_blocks_free());
  }
}

TEST_P(Resumed, AlsoWhereMemoryIsShortAndOthersRun) {
  std::vector<Request> requests;
  std::vector<Answer> whole;
  for (int i = 0; i < 6; ++i) {
    requests.push_back(make_request(12, 24, i));
    whole.push_back(TestEngine(options()).run(requests.back()));
  }
  TestEngineOptions tight = options();
  tight.runner.num_blocks = 16;
  tight.limits = {.max_step_tokens = 5};
  TestEngine engine(std::move(tight));
  std::vector<RequestId> ids;
  for (std::size_t i = 0; i < requests.size(); ++i)
    ids.push_back(engine.submit(resumed(requests[i], whole[i], 1 + 3 * i)));
  engine->run();
  for (std::size_t i = 0; i < requests.size(); ++i) expect_same_end(engine.answer(ids[i]), whole[i], 1 + 3 * i);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(ResumedTokens, ComeAsEventsOfTheirOwnBeforeTheNextOne) {
  const Request request = make_request(10, 8);
  const Answer whole = TestEngine().run(request);
  TestEngine engine;
  std::vector<bool> told;
  ASSERT_TRUE(
      engine->submit(resumed(request, whole, 5), [&](const TokenEvent& event) { told.push_back(event.is_resumed); }));
  engine->run();
  EXPECT_EQ(told, (std::vector{true, true, true, true, true, false, false, false}));
}

TEST(ResumedTokens, MayBeCancelledAmongThem) {
  const Request request = make_request(10, 8);
  const Answer whole = TestEngine().run(request);
  TestEngine engine;
  std::vector<FinishReason> told;
  ASSERT_TRUE(engine->submit(resumed(request, whole, 5), [&](const TokenEvent& event) {
    told.push_back(event.finish);
    if (told.size() == 2) engine->cancel(event.request);
  }));
  engine->run();
  ASSERT_LE(told.size(), 8U);
  EXPECT_EQ(told.back(), FinishReason::kCancelled);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(ResumedTokens, AnyListIsRefusedOrIsWhatTheAnswerBeginsWith) {
  std::mt19937 random(7);
  int num_answers = 0, num_refusals = 0;
  for (int round = 0; round < 300; ++round) {
    TestEngine engine;
    Request request = make_request(10, 8);
    request.sampling.temperature = 1;
    request.stop_tokens = {static_cast<TokenId>(random() % 32)};
    for (auto count = random() % 10; count > 0; --count)
      request.resumed_tokens.push_back(static_cast<TokenId>(random() % 33) - (random() % 40 == 0 ? 1000 : 0));
    const std::string refusal = TestEngine().refusal(request);
    if (refusal == "accepted") {
      const Answer answer = engine.run(request);
      const auto& given = request.resumed_tokens;
      ASSERT_GT(answer.tokens.size(), given.size());
      EXPECT_TRUE(std::equal(given.begin(), given.end(), answer.tokens.begin()));
      ++num_answers;
    } else {
      EXPECT_THAT(refusal, testing::StartsWith("resumed_tokens"));
      ++num_refusals;
    }
    EXPECT_TRUE(engine.all_blocks_free());
  }
  EXPECT_GT(num_answers, 50);
  EXPECT_GT(num_refusals, 50);
}

TEST(ResumedTokens, ThatCannotHaveBeenAnAnswersBeginningAreRefused) {
  TestEngine engine;
  Request request = make_request(10, 8);
  request.resumed_tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(engine.refusal(request), HasSubstr("resumed_tokens: found 8, expected fewer than the 8"));
  request.resumed_tokens = {1, -1};
  EXPECT_THAT(engine.refusal(request), HasSubstr("resumed_tokens[1]: found -1, expected a token id from 0 to 31"));
  request.resumed_tokens = {1, 9, 2};
  request.stop_tokens = {9};
  EXPECT_THAT(engine.refusal(request), HasSubstr("resumed_tokens[1]: found 9, which ends the answer"));
  request.stop_tokens = {};
  request.num_choices = 2;
  EXPECT_THAT(engine.refusal(request), HasSubstr("beside 2 choices"));
  request.num_choices = 1;
  request.sampling.mirostat.version = 2;
  EXPECT_THAT(engine.refusal(request), HasSubstr("Mirostat"));
}

}  // namespace
}  // namespace octavo
