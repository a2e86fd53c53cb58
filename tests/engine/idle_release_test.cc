// An engine that has nothing to do gives its KV memory back to the system, and takes it again.
#include "engine/drive/idle_release.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using namespace std::chrono_literals;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using Due = IdleRelease::Due;

TEST(IdleRelease, FreeBlocksGoSoonAndThePrefixCacheLater) {
  const IdleRelease::Clock::time_point t0{1000s};
  IdleRelease idle({.free = 30s, .all = 600s});
  EXPECT_FALSE(idle.next()) << "nothing is known of being idle";
  EXPECT_EQ(idle.due(t0), Due::kNothing);
  EXPECT_EQ(idle.next(), t0 + 30s);
  EXPECT_EQ(idle.due(t0 + 29s), Due::kNothing);
  EXPECT_EQ(idle.due(t0 + 30s), Due::kFree);
  EXPECT_EQ(idle.due(t0 + 31s), Due::kNothing) << "once";
  EXPECT_EQ(idle.next(), t0 + 600s);
  EXPECT_EQ(idle.due(t0 + 599s), Due::kNothing);
  EXPECT_EQ(idle.due(t0 + 601s), Due::kAll);
  EXPECT_EQ(idle.due(t0 + 602s), Due::kNothing);
  EXPECT_FALSE(idle.next()) << "until there is work again, it sleeps";
  idle.restart();
  EXPECT_EQ(idle.due(t0 + 700s), Due::kNothing);
  EXPECT_EQ(idle.next(), t0 + 730s);
}

TEST(IdleRelease, ThePrefixCacheStaysWhereItsTimeIsZero) {
  const IdleRelease::Clock::time_point t0{1000s};
  IdleRelease idle({.free = 30s, .all = 0s});
  EXPECT_EQ(idle.due(t0), Due::kNothing);
  EXPECT_EQ(idle.due(t0 + 30s), Due::kFree);
  EXPECT_FALSE(idle.next());
  EXPECT_EQ(idle.due(t0 + 24h), Due::kNothing);
}

TEST(IdleRelease, AShortTimeForThePrefixCacheGoesForAll) {
  const IdleRelease::Clock::time_point t0{1000s};
  IdleRelease idle({.free = 30s, .all = 5s});
  EXPECT_EQ(idle.due(t0), Due::kNothing);
  EXPECT_EQ(idle.next(), t0 + 5s);
  EXPECT_EQ(idle.due(t0 + 5s), Due::kAll);
}

/// Looks at the engine's statistics until they are as wanted, for a minute at most.
template <class Wanted>
bool comes_true(TestEngine& engine, Wanted wanted) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!wanted(engine->stats().kv)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

TEST(IdleRelease, AnIdleEngineGivesItsKvMemoryBackAndAnswersAsBefore) {
  TestEngine engine({.idle = {.free = 1ms, .all = 3ms}});
  const std::jthread driver([&](const std::stop_token& stop) { engine->run_until(stop); });
  for (std::uint64_t round = 0; round < 3; ++round) {
    const Request request = make_request(40, 20, 7);
    std::atomic<int> num_tokens = 0, num_wrong = 0;
    std::atomic<bool> ended = false;
    std::uint64_t resident_at_end = 0;
    const auto expected = reference_answer(request, 32).tokens;
    ASSERT_TRUE(engine->submit(request, [&](const TokenEvent& event) {
      const auto i = static_cast<std::size_t>(num_tokens);
      if (event.token >= 0) {
        if (i >= expected.size() || expected[i] != event.token) ++num_wrong;
        ++num_tokens;
      }
      if (event.finish == FinishReason::kNone) return;
      resident_at_end = engine->stats().kv.resident_bytes;
      ended = true;
    }));
    ASSERT_TRUE(comes_true(engine, [&](const KvStats&) { return ended.load(); }));
    EXPECT_GT(resident_at_end, 0U);
    EXPECT_EQ(num_wrong, 0);
    EXPECT_EQ(num_tokens, static_cast<int>(expected.size()));
    EXPECT_TRUE(comes_true(
        engine, [](const KvStats& kv) { return kv.resident_bytes == 0 && kv.blocks_cached == 0 && kv.tokens == 0; }));
  }
}

TEST(IdleRelease, ThePrefixCacheIsKeptUntilItsTime) {
  TestEngine engine({.idle = {.free = 1ms, .all = 1h}});
  engine.run(make_request(40, 4));
  const int num_cached = engine->stats().kv.blocks_cached;
  ASSERT_GT(num_cached, 0);
  engine->release_memory(false);
  EXPECT_EQ(engine->stats().kv.blocks_cached, num_cached);
  EXPECT_GT(engine->stats().kv.resident_bytes, 0U);
  engine->release_memory(true);
  EXPECT_EQ(engine->stats().kv.blocks_cached, 0);
  EXPECT_EQ(engine->stats().kv.resident_bytes, 0U);
}

TEST(IdleRelease, ARequestUnderWayKeepsWhatItHasAndACallbackMayAsk) {
  TestEngine engine;
  const Request request = make_request(30, 12);
  std::vector<TokenId> tokens;
  ASSERT_TRUE(engine->submit(request, [&](const TokenEvent& event) {
    if (event.token >= 0) tokens.push_back(event.token);
    engine->release_memory(true);
  }));
  while (engine->step()) engine->release_memory(true);
  EXPECT_EQ(tokens, reference_answer(request, 32).tokens);
}

}  // namespace
}  // namespace octavo
