// An engine that one thread drives while others submit, cancel, pull and look.
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
  while (const RequestEvent* event = stream.next()) {
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
    while (const RequestEvent* event = (*stream)->try_next()) tokens.push_back(event->token);
  }
  EXPECT_EQ(tokens, reference_answer(request, 32).tokens);
  EXPECT_EQ((*stream)->next(), nullptr);
}

TEST(RequestEvent, KeepsAllThatTheEngineToldWhenThatIsGone) {
  std::string shown = "text bytes thoughts, all too long to be held in a string itself";
  std::vector<TokenLogprob> top = {{.token = 5, .logprob = -0.25F}, {.token = 9, .logprob = -2}};
  const std::string_view all = shown;
  const TokenEvent told{.request = 3,
                        .choice = 2,
                        .token = 5,
                        .logprob = -0.25F,
                        .top_logprobs = top,
                        .text = all,
                        .bytes = all.substr(1),
                        .reasoning = all.substr(2),
                        .is_reasoning = true,
                        .is_text = false,
                        .other_bytes = 7,
                        .finish = FinishReason::kLength,
                        .stats = {.prompt_tokens = 11, .generated_tokens = 4}};
  const RequestEvent kept(told, 6);
  const std::string before = shown;
  shown.assign(shown.size(), '-');
  top.assign(top.size(), {});
  EXPECT_EQ(kept.prompt_index, 6U);
  EXPECT_EQ(kept.choice, 2U);
  EXPECT_EQ(kept.token, 5);
  EXPECT_EQ(kept.logprob, -0.25F);
  ASSERT_EQ(kept.top_logprobs.size(), 2U);
  EXPECT_EQ(kept.top_logprobs[1].token, 9);
  EXPECT_EQ(kept.text, before);
  EXPECT_EQ(kept.bytes, before.substr(1));
  EXPECT_EQ(kept.reasoning, before.substr(2));
  EXPECT_TRUE(kept.is_reasoning);
  EXPECT_FALSE(kept.is_text);
  EXPECT_EQ(kept.other_bytes, 7U);
  EXPECT_EQ(kept.finish, FinishReason::kLength);
  EXPECT_EQ(kept.stats.prompt_tokens, 11);
  EXPECT_EQ(kept.stats.generated_tokens, 4);
  EXPECT_FALSE(kept.progress);
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

}  // namespace
}  // namespace octavo
