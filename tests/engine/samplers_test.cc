// Samplers that look at the sequence, or carry something from token to token, through the engine: the same answer as
// alone, in company and after preemption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::make_request;
using test::TestEngine;
using ::testing::Each;
using ::testing::Not;

/// Four choices beside three other requests in memory for about half of them: every answer is the one of `params`
/// alone.
void expect_same_in_company(const SamplingParams& params) {
  Request request = make_request(12, 40);
  request.sampling = params;
  request.sampling.seed = 7;
  request.num_choices = 4;
  TestEngine roomy({.runner = {.num_blocks = 400}}),
      tight({.runner = {.num_blocks = 40}, .limits = {.max_step_tokens = 9}});
  Request single = request;
  single.num_choices = 1;
  std::vector<Answer> expected;
  for (std::uint32_t choice = 0; choice < 4; ++choice) {
    single.first_choice = choice;
    expected.push_back(roomy.run(single));
  }
  for (std::uint64_t other = 2; other < 5; ++other) (void)tight.submit(make_request(20, 30, other));
  const RequestId id = tight.submit(request);
  tight->run();
  EXPECT_GT(tight->stats().preemptions, 0U);
  for (int choice = 0; choice < 4; ++choice)
    EXPECT_TRUE(tight.answer(id, choice).same_tokens(expected[static_cast<std::size_t>(choice)])) << choice;
}

TEST(Samplers, MirostatGivesTheSameAnswerInCompanyAndThroughPreemption) {
  for (const int version : {1, 2}) expect_same_in_company({.mirostat = {.version = version, .tau = 2, .eta = 0.3F}});
}

TEST(Samplers, DryAndWindowsGiveTheSameAnswerInCompanyAndThroughPreemption) {
  expect_same_in_company(
      {.repetition_penalty = 1.3F, .penalty_window = 8, .dry = {.multiplier = 2, .allowed_length = 1}});
}

TEST(Samplers, MirostatsBoundGoesOnFromTokenToToken) {
  // With a small tau and a fast pace the bound soon leaves little; without the state it would stay where it began.
  for (const int version : {1, 2}) {
    Request request = make_request(5, 60);
    request.sampling = {.mirostat = {.version = version, .tau = 0.5F, .eta = 1}};
    TestEngine engine;
    const Answer carried = engine.run(request);
    request.sampling.mirostat.eta = 0;
    const Answer constant = engine.run(request);
    EXPECT_FALSE(carried.same_tokens(constant)) << version;
  }
}

TEST(Samplers, DryBreakersAreTheTokensThatContainTheirText) {
  // The tiny vocabulary has a token for each letter: a sequence "ABCABCAB" would go on with C but for the breaker.
  TestEngine engine;
  Request request = make_request(1, 1);
  const std::vector<TokenId> abc = *engine->text()->tokenize("ABC", {.add_special = false, .parse_special = false});
  ASSERT_EQ(abc.size(), 3U);
  request.tokens = {abc[0], abc[1], abc[2], abc[0], abc[1], abc[2], abc[0], abc[1]};
  request.sampling = {.temperature = 0, .logit_bias = {{abc[2], 50.0F}}, .dry = {.multiplier = 100, .base = 2}};
  EXPECT_THAT(engine.run(request).tokens, Each(Not(abc[2])));
  request.sampling.dry.breakers = {"B"};
  EXPECT_THAT(engine.run(request).tokens, Each(abc[2]));
}

TEST(Samplers, TokensThatTheFileSuppressesAreNeverDrawn) {
  TestEngine free, bound({.sampling_defaults = {.suppressed = {1, 2, 3, 4, 5, 6, 7, 8}}});
  const Request request = make_request(5, 100);
  EXPECT_TRUE(std::ranges::any_of(free.run(request).tokens, [](TokenId t) { return t >= 1 && t <= 8; }));
  EXPECT_TRUE(std::ranges::none_of(bound.run(request).tokens, [](TokenId t) { return t >= 1 && t <= 8; }));
}

}  // namespace
}  // namespace octavo
