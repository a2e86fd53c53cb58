// Engines that share threads: who counts as having work, and whose time a step is.
#include "engine/schedule/active_engines.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::TestEngine;
using Clock = std::chrono::steady_clock;

std::shared_ptr<Resources> make_resources() { return Resources::create({.num_threads = 2}).value(); }

TEST(ActiveEngines, EachCountsOnceAsLongAsItIsActive) {
  ActiveEngines engines;
  ActiveEngines::Membership first(engines);
  EXPECT_EQ(engines.count(), 0);
  first.set_active(true);
  first.set_active(true);
  EXPECT_EQ(engines.count(), 1);
  {
    ActiveEngines::Membership second(engines);
    second.set_active(true);
    EXPECT_EQ(engines.count(), 2);
  }
  EXPECT_EQ(engines.count(), 1) << "it is gone";
  first.set_active(false);
  first.set_active(false);
  EXPECT_EQ(engines.count(), 0);
}

TEST(ActiveEngines, AnEngineIsActiveWhileItHasRequests) {
  const auto resources = make_resources();
  const ActiveEngines& engines = resources->impl().active_engines;
  TestEngine first({.resources = resources}), second({.resources = resources});
  EXPECT_EQ(engines.count(), 0) << "loaded, without work";
  first.submit({.tokens = {1, 2, 3}, .max_tokens = 4, .ignore_eos = true});
  const RequestId cancelled = second.submit({.tokens = {1, 2, 3}, .max_tokens = 40, .ignore_eos = true});
  first->step();
  EXPECT_EQ(engines.count(), 1);
  second->step();
  EXPECT_EQ(engines.count(), 2);
  first->run();
  EXPECT_EQ(engines.count(), 1) << "the first one's answer is complete";
  second->cancel(cancelled);
  EXPECT_EQ(engines.count(), 0) << "nobody waits for the second one";
}

TEST(ActiveEngines, AnEngineThatEndsWithRequestsCountsNoMore) {
  const auto resources = make_resources();
  {
    TestEngine engine({.resources = resources});
    engine.submit({.tokens = {1, 2, 3}, .max_tokens = 40, .ignore_eos = true});
    engine->step();
    EXPECT_EQ(resources->impl().active_engines.count(), 1);
  }
  EXPECT_EQ(resources->impl().active_engines.count(), 0);
}

// Else a cost model would take the steps of others for its own, and make its own as small as if the machine were slow.
TEST(ActiveEngines, TheStepsOfOthersAreNotCountedAsAStepsOwnTime) {
  const auto resources = make_resources();
  TestEngine engine({.resources = resources, .limits = {.step_ms = 50}});
  engine.submit({.tokens = {1, 2, 3}, .max_tokens = 1, .ignore_eos = true});
  std::optional<ThreadPool::Step> of_another(std::in_place, resources->impl().threads);
  const Clock::time_point begin = Clock::now();
  std::thread driver([&] { engine->step(); });
  while (!of_another->is_wanted_by_others()) std::this_thread::yield();
  const Clock::time_point held = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const Clock::duration waited = Clock::now() - held;  // at least that long
  of_another.reset();
  driver.join();
  const std::chrono::duration<double> whole = Clock::now() - begin;
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.steps, 1U);
  EXPECT_GT(stats.last_step_s, 0);
  EXPECT_LE(stats.last_step_s, (whole - waited).count());
}

}  // namespace
}  // namespace octavo
