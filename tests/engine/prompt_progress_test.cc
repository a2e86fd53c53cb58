// The progress of a prompt: told while it is read, step by step, and not otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"
#include "octavo/token_stream.h"

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The progress that a request was told.
struct Told {
  std::vector<PromptProgress> progress;

  Request request(int prompt_tokens, int max_tokens, std::uint64_t seed = 1) {
    Request made = make_request(prompt_tokens, max_tokens, seed);
    made.on_prompt_progress = [this](const PromptProgress& now) { progress.push_back(now); };
    return made;
  }
  std::vector<int> computed() const {
    std::vector<int> tokens;
    for (const PromptProgress& now : progress) tokens.push_back(now.computed_tokens);
    return tokens;
  }
};

TEST(PromptProgress, IsToldStepByStepUntilThePromptIsComputed) {
  TestEngine engine({.limits = {.max_step_tokens = 40}});
  Told told;
  bool complete_before_first_token = false;
  ASSERT_TRUE(engine->submit(told.request(100, 5), [&](const TokenEvent& event) {
    if (event.token < 0 || complete_before_first_token) return;
    complete_before_first_token = told.progress.back().computed_tokens == 100;
  }));
  engine->run();
  EXPECT_THAT(told.computed(), ElementsAre(40, 80, 100));
  EXPECT_TRUE(complete_before_first_token);
  double before = 0;
  for (const PromptProgress& now : told.progress) {
    EXPECT_EQ(now.prompt_tokens, 100);
    EXPECT_EQ(now.cached_tokens, 0);
    EXPECT_GT(now.seconds, before);
    before = now.seconds;
  }
}

TEST(PromptProgress, CountsWhatOthersComputed) {
  TestEngine engine({.limits = {.max_step_tokens = 40}});
  engine.run(make_request(100, 1));
  Told told;
  engine.run(told.request(100, 1));
  ASSERT_EQ(told.progress.size(), 1U);
  EXPECT_EQ(told.progress[0].cached_tokens, 96);  // blocks of 4, and one token is always computed
  EXPECT_EQ(told.progress[0].computed_tokens, 100);
}

TEST(PromptProgress, IsToldWhileAnotherRequestComputesTheSamePrompt) {
  TestEngine engine({.limits = {.max_step_tokens = 40}});
  Told first, second;
  engine.submit(first.request(100, 1));
  engine.submit(second.request(100, 1));
  engine->run();
  EXPECT_EQ(first.computed().back(), 100);
  EXPECT_EQ(second.computed().back(), 100);
  EXPECT_GT(second.computed().size(), 1U);
  EXPECT_GE(second.progress.back().cached_tokens, 80);
}

TEST(PromptProgress, NothingIsToldOfAPromptThatWaits) {
  TestEngine engine({.limits = {.max_sequences = 1}});
  engine.submit(make_request(20, 50, 1));
  Told told;
  engine.submit(told.request(30, 1, 2));
  for (int i = 0; i < 20; ++i) engine->step();
  EXPECT_THAT(told.progress, IsEmpty());
  engine->run();
  EXPECT_THAT(told.computed(), ElementsAre(30));
}

TEST(PromptProgress, ACallbackMayCancel) {
  TestEngine engine({.limits = {.max_step_tokens = 40}});
  const RequestId beside = engine.submit(make_request(8, 50, 2));
  RequestId own = 0;
  Request request = make_request(100, 5);
  request.on_prompt_progress = [&](const PromptProgress&) {
    engine->cancel(own);
    engine->cancel(beside);
  };
  own = engine.submit(request);
  engine->run();
  EXPECT_EQ(engine.answer(own).finish, FinishReason::kCancelled);
  EXPECT_EQ(engine.answer(beside).finish, FinishReason::kCancelled);
  EXPECT_TRUE(engine.all_blocks_free());
}

}  // namespace
}  // namespace octavo
