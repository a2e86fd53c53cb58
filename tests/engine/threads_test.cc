// An engine that one thread drives while others submit, cancel, pull and look: and what it says about each request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "engine/test_engine.h"
#include "octavo/token_stream.h"

namespace octavo {
namespace {

using namespace std::chrono_literals;
using test::Answer;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A thread in run_until() as long as this lives.
class Driver {
 public:
  explicit Driver(TestEngine& engine) : thread_([&engine](const std::stop_token& stop) { engine->run_until(stop); }) {}
  void join() { thread_.join(); }

 private:
  std::jthread thread_;
};

Answer pull(TokenStream& stream) {
  Answer answer;
  while (const TokenEvent* event = stream.next()) {
    if (event->token >= 0) {
      answer.tokens.push_back(event->token);
      answer.logprobs.push_back(event->logprob);
    }
    if (event->finish == FinishReason::kNone) continue;
    answer.finish = event->finish;
    answer.stats = event->stats;
    ++answer.num_last_events;
  }
  return answer;
}

TEST(Threads, ManySubmitAndPullWhileOneDrives) {
  TestEngine engine({.runner = {.num_blocks = 60}});
  Driver driver(engine);
  std::vector<std::jthread> clients;
  std::atomic<int> wrong = 0;
  for (std::uint64_t client = 0; client < 6; ++client) {
    clients.emplace_back([&, client] {
      for (std::uint64_t i = 0; i < 20; ++i) {
        const Request request = make_request(1 + static_cast<int>((client * 7 + i) % 40), 12, client * 100 + i);
        auto stream = TokenStream::submit(*engine, request);
        if (!stream || !pull(**stream).same_tokens(reference_answer(request, 32))) ++wrong;
      }
    });
  }
  clients.clear();
  engine->drain();
  driver.join();  // the last event comes from within a step
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Threads, CancelFromOutsideEndsARequestInAnyState) {
  TestEngine engine({.runner = {.num_blocks = 40}, .limits = {.max_step_tokens = 8}});
  Driver driver(engine);
  for (std::uint64_t i = 0; i < 60; ++i) {
    auto stream = TokenStream::submit(*engine, make_request(60, 100, i));
    ASSERT_TRUE(stream);
    for (std::uint64_t events = 0; events < i % 4; ++events) ASSERT_NE((*stream)->next(), nullptr);
    engine->cancel((*stream)->id());
    const Answer answer = pull(**stream);
    EXPECT_EQ(answer.num_last_events, 1);
  }
  engine->drain();
  driver.join();
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Threads, AbandonedStreamCancelsItsRequest) {
  TestEngine engine({.runner = {.num_blocks = 40}});
  Driver driver(engine);
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto stream = TokenStream::submit(*engine, make_request(20, 120, i));
    ASSERT_TRUE(stream);
    if (i % 2 == 0) (*stream)->next();
  }
  engine->drain();
  driver.join();
  EXPECT_EQ(engine->stats().finished, 20U);
  EXPECT_TRUE(engine.all_blocks_free());
}

// Prompts that begin alike, memory for few of them, clients that go away in the middle: every answer, as far as it
// went, is the one given alone.
TEST(Threads, StormFromManyClientsChangesNoAnswer) {
  for (const PrefillPriority policy :
       {PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved, PrefillPriority::kDecodePriority}) {
    TestEngine engine({.runner = {.num_blocks = 45, .windows = {0, 12}},
                       .limits = {.max_step_tokens = 24, .max_sequences = 12, .step_ms = 0.02, .policy = policy}});
    std::atomic<int> wrong = 0;
    {
      std::optional<Driver> driver(std::in_place, engine);
      std::vector<std::jthread> clients;
      for (std::uint64_t client = 0; client < 4; ++client) {
        clients.emplace_back([&, client] {
          for (std::uint64_t i = 0; i < 40; ++i) {
            const std::uint64_t key = test::mix(client * 1000 + i);
            Request request = make_request(1 + static_cast<int>(key % 120), 1 + static_cast<int>(key / 128 % 40), key);
            const Request common = make_request(120, 1, 55);
            std::copy_n(common.tokens.begin(), std::min<std::size_t>(request.tokens.size(), key / 7 % 120),
                        request.tokens.begin());
            request.priority = static_cast<int>(key % 3);
            auto stream = TokenStream::submit(*engine, request);
            if (!stream) return void(++wrong);
            if (key % 5 == 0) engine->cancel((*stream)->id());
            if (key % 7 == 0) continue;  // hangs up
            const Answer answer = pull(**stream);
            const std::vector<TokenId> expected = reference_answer(request, 32, engine.runner().windows()).tokens;
            const bool same = std::ranges::equal(answer.tokens, std::span(expected).first(answer.tokens.size()));
            const bool whole = answer.finish == FinishReason::kCancelled || answer.tokens.size() == expected.size();
            if (!same || !whole || answer.num_last_events != 1) ++wrong;
          }
        });
      }
    }
    engine->run();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(engine->stats().finished, 160U);
    EXPECT_TRUE(engine.all_blocks_free());
    EXPECT_TRUE(engine->check_integrity());
  }
}

TEST(Threads, StreamIsPulledByTheThreadThatDrivesAsWell) {
  TestEngine engine;
  const Request request = make_request(9, 7);
  auto stream = TokenStream::submit(*engine, request);
  ASSERT_TRUE(stream);
  EXPECT_EQ((*stream)->try_next(), nullptr);
  EXPECT_FALSE((*stream)->done());
  std::vector<TokenId> tokens;
  while (!(*stream)->done()) {
    engine->step();
    while (const TokenEvent* event = (*stream)->try_next()) tokens.push_back(event->token);
  }
  EXPECT_EQ(tokens, reference_answer(request, 32).tokens);
  EXPECT_EQ((*stream)->next(), nullptr);
}

TEST(Threads, StatsCanBeReadAtAnyTime) {
  TestEngine engine({.runner = {.num_blocks = 60}});
  Driver driver(engine);
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const EngineStats stats = engine->stats();
      ASSERT_EQ(stats.kv.blocks_free + stats.kv.blocks_cached + stats.kv.blocks_referenced, stats.kv.blocks_total);
    }
  });
  for (std::uint64_t i = 0; i < 30; ++i) {
    auto stream = TokenStream::submit(*engine, make_request(20, 20, i));
    ASSERT_TRUE(stream);
    pull(**stream);
  }
  reader.request_stop();
  reader.join();
  engine->drain();
  driver.join();
  EXPECT_EQ(engine->stats().generated_tokens, 600U);
  EXPECT_EQ(engine->stats().prompt_tokens, 600U);
  EXPECT_EQ(engine->stats().finished, 30U);
}

TEST(Threads, StatsWithinTheFirstStepKnowTheMemory) {
  EngineStats seen;
  std::function<void()> look;
  TestEngine engine({.runner = {.num_blocks = 60, .before_forward = [&] { std::jthread(look).join(); }}});
  look = [&] { seen = engine->stats(); };
  engine.run(make_request(5, 1));
  EXPECT_EQ(seen.kv.blocks_total, 60);
  EXPECT_EQ(seen.kv.arena_bytes, engine->stats().kv.arena_bytes);
}

TEST(Drain, RefusesWhatComesFinishesWhatRunsAndThenReturns) {
  TestEngine engine;
  const Request request = make_request(20, 50);
  auto stream = TokenStream::submit(*engine, request);
  ASSERT_TRUE(stream);
  engine->drain();
  const auto refused = engine->submit(make_request(3, 3), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDraining);
  Driver driver(engine);
  EXPECT_TRUE(pull(**stream).same_tokens(reference_answer(request, 32)));
  driver.join();  // it returns by itself
}

TEST(Drain, OfAnIdleEngineReturnsAtOnce) {
  TestEngine engine;
  Driver driver(engine);
  std::this_thread::sleep_for(20ms);
  engine->drain();
  driver.join();
}

TEST(RunUntil, StopLeavesRequestsAsTheyAre) {
  TestEngine engine({.runner = {.num_blocks = 60}});
  const Request request = make_request(20, 150);
  auto stream = TokenStream::submit(*engine, request);
  ASSERT_TRUE(stream);
  std::stop_source stop;
  stop.request_stop();
  engine->run_until(stop.get_token());
  EXPECT_FALSE((*stream)->done());
  engine->run();
  EXPECT_TRUE(pull(**stream).same_tokens(reference_answer(request, 32)));
}

TEST(QueueBound, OneMoreIsRefusedUntilSomebodyIsAdmitted) {
  TestEngine engine({.limits = {.max_sequences = 1}, .max_queued = 2});
  const RequestId first = engine.submit(make_request(5, 3));
  engine.submit(make_request(5, 3));
  const auto refused = engine->submit(make_request(5, 3), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kQueueFull);
  EXPECT_THAT(refused.error().message, HasSubstr("2 requests"));
  engine->step();  // the first is admitted
  engine.submit(make_request(5, 3));
  EXPECT_FALSE(engine->submit(make_request(5, 3), {}));
  engine->run();
  EXPECT_EQ(engine.answer(first).finish, FinishReason::kLength);
  EXPECT_TRUE(engine->submit(make_request(5, 3), {}));
}

TEST(QueueBound, CancelledRequestsLeaveTheQueue) {
  TestEngine engine({.limits = {.max_sequences = 1}, .max_queued = 2});
  engine.submit(make_request(5, 3));
  const RequestId second = engine.submit(make_request(5, 3));
  engine->cancel(second);
  EXPECT_TRUE(engine->submit(make_request(5, 3), {}));
  engine->run();
}

TEST(QueueBound, PromptsCountOnceForEachChoice) {
  TestEngine engine({.limits = {.max_sequences = 4}, .max_queued_tokens = 100});
  const auto of_choices = [](int prompt_tokens, int num_choices) {
    Request request = make_request(prompt_tokens, 3);
    request.num_choices = num_choices;
    return request;
  };
  engine.submit(of_choices(25, 4));
  engine->step();  // it is admitted, and takes every seat
  engine.submit(of_choices(20, 3));
  const auto refused = engine->submit(of_choices(20, 3), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kQueueFull);
  EXPECT_THAT(refused.error().message, HasSubstr("60 tokens of prompts waiting and 60 more, expected at most 100"));
  engine.submit(of_choices(20, 2));
  EXPECT_FALSE(engine->submit(of_choices(1, 1), {}));
  engine->run();
  EXPECT_TRUE(engine->submit(of_choices(20, 3), {}));
}

TEST(QueueBound, WhatCouldNeverWaitIsAWrongRequest) {
  TestEngine engine({.max_queued_tokens = 100});
  Request request = make_request(40, 3);
  request.num_choices = 3;
  const auto refused = engine->submit(request, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kOther);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("found 120"), HasSubstr("at most 100")));
}

/// The number of an owner's requests that are taken until one is refused.
int num_taken(TestEngine& engine, const std::string& owner, int prompt_tokens) {
  for (int count = 0;; ++count) {
    Request request = make_request(prompt_tokens, 3);
    request.owner = owner;
    const auto id = engine->submit(request, {});
    if (id) continue;
    EXPECT_EQ(id.error().kind, ErrorKind::kQueueFull);
    return count;
  }
}

TEST(QueueBound, OneClientLeavesAFifthOfItToOthersAndASecondOneAFifthOfThat) {
  TestEngine requests({.limits = {.max_sequences = 1}, .max_queued = 100});
  EXPECT_EQ(num_taken(requests, "first", 5), 80);
  EXPECT_EQ(num_taken(requests, "second", 5), 16);
  EXPECT_EQ(num_taken(requests, "third", 5), 4);
  EXPECT_EQ(num_taken(requests, "fourth", 5), 0);
  TestEngine tokens({.limits = {.max_sequences = 1}, .max_queued_tokens = 1000});
  EXPECT_EQ(num_taken(tokens, "first", 10), 80);
  EXPECT_EQ(num_taken(tokens, "second", 10), 16);
  EXPECT_EQ(num_taken(tokens, "third", 10), 4);
  EXPECT_EQ(num_taken(tokens, "fourth", 10), 0);
}

TEST(QueueBound, RequestsOfNobodyInParticularMayTakeAllOfIt) {
  TestEngine engine({.limits = {.max_sequences = 1}, .max_queued = 100});
  EXPECT_EQ(num_taken(engine, "", 5), 100);
}

TEST(Owner, TooLongANameIsRefusedWithBothNumbers) {
  TestEngine engine;
  Request request = make_request(5, 3);
  request.owner.assign(257, 'x');
  EXPECT_THAT(engine.refusal(request), AllOf(HasSubstr("owner: found 257 bytes"), HasSubstr("at most 256")));
}

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
