// Logits of prompt rows: all of them, once each, in order, whatever the chunks and the memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::make_request;
using test::TestEngine;

struct Recorder {
  std::vector<float> logits;
  std::size_t largest_slice = 0;

  auto callback() {
    return [this](int first_position, std::span<const float> rows) {
      EXPECT_EQ(static_cast<std::size_t>(first_position), logits.size() / 32) << "rows come in order, without gaps";
      largest_slice = std::max(largest_slice, rows.size() / 32);
      logits.insert(logits.end(), rows.begin(), rows.end());
    };
  }
};

std::vector<float> expected_logits(const std::vector<TokenId>& tokens) {
  std::vector<float> logits(tokens.size() * 32);
  std::uint64_t state = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    state = test::next_state(state, tokens[i], static_cast<int>(i));
    test::FakeRunner::fill_logits(state, std::span(logits).subspan(i * 32, 32));
  }
  return logits;
}

TEST(PromptLogits, EveryRowComesOnceInSlicesOfAtMost64) {
  for (const int chunk : {1, 7, 64, 100, 512}) {
    TestEngine engine({.limits = {.max_step_tokens = chunk}});
    Recorder recorder;
    Request request = make_request(150, -1);
    request.on_prompt_logits = recorder.callback();
    const test::Answer answer = engine.run(request);
    EXPECT_EQ(recorder.logits, expected_logits(request.tokens)) << chunk;
    EXPECT_LE(recorder.largest_slice, static_cast<std::size_t>(kMaxLogitRows));
    EXPECT_TRUE(answer.tokens.empty());
    EXPECT_EQ(answer.finish, FinishReason::kLength);
    EXPECT_EQ(answer.num_last_events, 1);
    EXPECT_TRUE(engine.all_blocks_free());
  }
}

TEST(PromptLogits, PromptMayFillTheWholeContextWhenNothingIsGenerated) {
  TestEngine engine({.max_context = 40});
  Recorder recorder;
  Request request = make_request(40, -1);
  request.on_prompt_logits = recorder.callback();
  engine.run(request);
  EXPECT_EQ(recorder.logits.size(), 40U * 32);
  EXPECT_THAT(engine.refusal([&] {
    Request longer = make_request(41, -1);
    longer.on_prompt_logits = recorder.callback();
    return longer;
  }()),
              testing::HasSubstr("at most 40"));
}

TEST(PromptLogits, ComeBesideAnAnswerThatIsNotChangedByThem) {
  TestEngine engine;
  Recorder recorder;
  Request request = make_request(70, 20);
  request.on_prompt_logits = recorder.callback();
  const RequestId other = engine.submit(make_request(33, 20, 9));
  const test::Answer answer = engine.run(request);
  EXPECT_EQ(recorder.logits, expected_logits(request.tokens));
  EXPECT_TRUE(answer.same_tokens(test::reference_answer(request, 32)));
  EXPECT_TRUE(engine.answer(other).same_tokens(test::reference_answer(make_request(33, 20, 9), 32)));
}

TEST(PromptLogits, RowsHandedOutBeforeAPreemptionDoNotComeAgain) {
  TestEngine engine({.runner = {.num_blocks = 16}, .max_context = 64, .limits = {.max_step_tokens = 2}});
  const RequestId older = engine.submit(make_request(20, 30, 9));
  while (engine.answer(older).tokens.empty()) engine->step();
  Recorder recorder;
  Request request = make_request(30, -1);
  request.on_prompt_logits = recorder.callback();
  const test::Answer answer = engine.run(request);
  EXPECT_GT(engine->stats().preemptions, 0U);
  EXPECT_EQ(recorder.logits, expected_logits(request.tokens));
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_TRUE(engine.answer(older).same_tokens(test::reference_answer(make_request(20, 30, 9), 32)));
}

TEST(PromptLogits, CallbackMayCancel) {
  TestEngine engine;
  const RequestId beside = engine.submit(make_request(8, 5, 2));
  RequestId own = 0;
  int calls = 0;
  Request request = make_request(150, 20);
  request.on_prompt_logits = [&](int, std::span<const float>) {
    ++calls;
    engine->cancel(own);
    engine->cancel(beside);
  };
  own = engine.submit(request);
  engine->run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(engine.answer(own).finish, FinishReason::kCancelled);
  EXPECT_EQ(engine.answer(beside).finish, FinishReason::kCancelled);
  EXPECT_TRUE(engine.all_blocks_free());
}

}  // namespace
}  // namespace octavo
