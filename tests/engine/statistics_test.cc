// A request says where its time went, and ends at its deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using namespace std::chrono_literals;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Deadline, EndsARequestWhereverItIs) {
  for (const int steps : {0, 2, 8}) {
    TestEngine engine({.limits = {.max_step_tokens = 8}});
    Request request = make_request(30, 100);
    request.deadline_s = 0.02;
    const RequestId id = engine.submit(request);
    for (int i = 0; i < steps; ++i) engine->step();
    std::this_thread::sleep_for(25ms);
    EXPECT_TRUE(engine->step());
    EXPECT_EQ(engine.answer(id).finish, FinishReason::kDeadline) << steps;
    EXPECT_EQ(engine.answer(id).num_last_events, 1);
    EXPECT_TRUE(engine.all_blocks_free());
    EXPECT_FALSE(engine->step());
  }
}

TEST(Deadline, ThatIsNotReachedChangesNothing) {
  TestEngine engine;
  Request request = make_request(10, 10);
  request.deadline_s = 1000;
  EXPECT_TRUE(engine.run(request).same_tokens(reference_answer(request, 32)));
}

TEST(Deadline, OutOfRangeIsRefused) {
  TestEngine engine;
  Request request = make_request(10, 10);
  for (const double seconds : {-1.0, 1e9, std::nan("")}) {
    request.deadline_s = seconds;
    EXPECT_THAT(engine.refusal(request), HasSubstr("deadline_s: found"));
  }
}

TEST(PriorityOfRequests, OutOfRangeIsRefused) {
  TestEngine engine;
  Request request = make_request(10, 10);
  request.priority = 1001;
  EXPECT_THAT(engine.refusal(request), AllOf(HasSubstr("priority: found 1001"), HasSubstr("-1000 to 1000")));
}

TEST(Explained, EachRequestSaysWhereItsTimeWent) {
  TestEngine engine({.runner = {.num_blocks = 12}, .max_context = 48, .limits = {.max_step_tokens = 8}});
  std::vector<RequestId> ids;
  for (std::uint64_t i = 0; i < 4; ++i) ids.push_back(engine.submit(make_request(20, 20, i)));
  engine->run();
  int preemptions = 0;
  for (const RequestId id : ids) {
    const RequestStats& stats = engine.answer(id).stats;
    EXPECT_EQ(stats.prompt_tokens, 20);
    EXPECT_EQ(stats.generated_tokens, 20);
    EXPECT_GT(stats.prefill_s, 0);
    EXPECT_GT(stats.decode_s, 0);
    EXPECT_NEAR(stats.queued_s + stats.prefill_s + stats.decode_s + stats.stalled_s, stats.total_s, 1e-3);
    EXPECT_LE(stats.time_to_first_token_s, stats.total_s);
    preemptions += stats.preemptions;
  }
  EXPECT_GT(engine.answer(ids.back()).stats.queued_s, engine.answer(ids.front()).stats.queued_s);
  EXPECT_EQ(static_cast<std::uint64_t>(preemptions), engine->stats().preemptions);
}

TEST(Explained, TimeBetweenCallsIsNobodysStep) {
  TestEngine engine;
  const auto timed = [](const auto& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const RequestId id = engine.submit(make_request(9, 4));
  std::this_thread::sleep_for(30ms);
  const double prefill = timed([&] { engine->step(); });
  std::this_thread::sleep_for(30ms);
  const double decode = timed([&] { engine->run(); });
  const RequestStats& stats = engine.answer(id).stats;
  EXPECT_GE(stats.queued_s, 0.03);
  EXPECT_LE(stats.prefill_s, prefill);
  EXPECT_LE(stats.decode_s, prefill + decode);  // the callbacks of a step count for the next one
  EXPECT_GE(stats.stalled_s, 0.03 - 1e-6);
}

TEST(Explained, ForksHaveThePastOfTheirPrompt) {
  TestEngine engine({.limits = {.max_step_tokens = 8}});
  Request request = make_request(40, 5);
  request.num_choices = 3;
  const RequestId id = engine.submit(request);
  engine->run();
  for (int i = 0; i < 3; ++i) EXPECT_GT(engine.answer(id, i).stats.prefill_s, 0) << i;
}

TEST(Explained, StepsHaveAPredictionWhereThereIsATarget) {
  TestEngine engine({.limits = {.step_ms = 50}});
  engine.runner().let_read_anything(true);
  engine->calibrate();
  engine.runner().let_read_anything(false);
  engine.run(make_request(40, 30));
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.steps, 30U);
  EXPECT_GT(stats.step_s, 0);
  EXPECT_GT(stats.predicted_step_s, 0);
  EXPECT_GT(stats.last_step_s, 0);
  EXPECT_GE(stats.step_error_s, std::abs(stats.step_s - stats.predicted_step_s) - 1e-9);
  EXPECT_TRUE(engine.all_blocks_free());
  EXPECT_EQ(stats.kv.blocks_cached, 17) << "calibration leaves nothing behind";  // 69 tokens in blocks of 4
}

}  // namespace
}  // namespace octavo
