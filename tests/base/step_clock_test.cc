#include "base/step_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/thread_pool.h"

namespace octavo {
namespace {

using namespace std::chrono_literals;

void work_for(StepClock::Clock::duration time) {
  const auto end = StepClock::Clock::now() + time;
  while (StepClock::Clock::now() < end) {
  }
}

TEST(StepClock, TimeBelongsToThePartThatWasEnteredLast) {
  StepProfile profile;
  StepClock clock(&profile, 1);
  clock.enter(StepPart::kScheduling);  // nothing before the first part counts
  work_for(4ms);
  clock.enter(StepPart::kAttention);
  work_for(2ms);
  clock.enter(StepPart::kBetween);
  EXPECT_GE(profile[StepPart::kScheduling].seconds, 0.004);
  EXPECT_GE(profile[StepPart::kAttention].seconds, 0.002);
  EXPECT_EQ(profile[StepPart::kBetween].seconds, 0);
  EXPECT_EQ(profile[StepPart::kDown].seconds, 0);
  EXPECT_EQ(profile[StepPart::kAttention].working_seconds, profile[StepPart::kAttention].seconds);
}

TEST(StepClock, ThreadsThatWaitForAnotherDoNotWork) {
  StepProfile profile;
  ThreadPool pool(2);
  StepClock clock(&profile, pool.num_threads());
  {
    const ThreadPool::Step step(pool, &clock);
    clock.enter(StepPart::kDown);
    std::atomic<int> others = 0;
    pool.for_ranges(2, 1, [&](std::size_t, std::size_t, int worker) {  // one item has all the work
      if (worker == 0) {
        while (others.load() == 0) std::this_thread::yield();
      } else {
        others = 1;
        work_for(50ms);
      }
    });
    clock.enter(StepPart::kBetween);
  }
  const StepPartTime& down = profile[StepPart::kDown];
  EXPECT_GE(down.seconds, 0.050);
  EXPECT_GE(down.working_seconds, 0.025);  // a thread's 50 ms, over two threads
  EXPECT_LT(down.working_seconds, down.seconds);
}

TEST(StepClock, APoolWithoutAClockTimesNothing) {
  StepProfile profile;
  ThreadPool pool(2);
  StepClock stopped(nullptr, pool.num_threads());
  const ThreadPool::Step step(pool, &stopped);
  pool.enter(StepPart::kDown);
  pool.for_ranges(2, 1, [&](std::size_t, std::size_t, int) { work_for(1ms); });
  pool.enter(StepPart::kBetween);
  for (const StepPartTime& part : profile.parts) EXPECT_EQ(part.seconds, 0);
}

}  // namespace
}  // namespace octavo
