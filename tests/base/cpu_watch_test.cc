#include "base/cpu_watch.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/cpu_info.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kInterval(1);

/// The pool's width in a step that begins now.
int width_of_step(ThreadPool& pool) {
  const ThreadPool::Step step(pool);
  return pool.width();
}

/// Whether the pool soon has steps of this width.
bool becomes(ThreadPool& pool, int width) {
  for (int i = 0; i < 10'000 && width_of_step(pool) != width; ++i) std::this_thread::sleep_for(kInterval);
  return width_of_step(pool) == width;
}

TEST(CpuWatch, APoolIsAsWideAsTheCpusThatAreLeft) {
  ThreadPool pool(4);
  std::atomic<int> cpus = 8;
  const CpuWatch watch(pool, [&] { return cpus.load(); }, kInterval);
  EXPECT_EQ(width_of_step(pool), 4);
  for (const int left : {3, 1, 2}) {
    cpus = left;
    EXPECT_TRUE(becomes(pool, left));
  }
  cpus = 6;  // fewer than at the beginning, and enough for all
  EXPECT_TRUE(becomes(pool, 4));
  cpus = 2;
  EXPECT_TRUE(becomes(pool, 2));
  cpus = 16;
  EXPECT_TRUE(becomes(pool, 4));
}

TEST(CpuWatch, MoreThreadsThanCpusStayWhereTheyWereWanted) {
  ThreadPool pool(4);
  std::atomic<int> cpus = 2, num_looks = 0;
  const CpuWatch watch(pool, [&] { return ++num_looks, cpus.load(); }, kInterval);
  while (num_looks < 10) std::this_thread::sleep_for(kInterval);
  EXPECT_EQ(width_of_step(pool), 4);
  cpus = 1;
  EXPECT_TRUE(becomes(pool, 1));
}

TEST(CpuWatch, FollowsTheAffinityMaskOfTheProcess) {
  if (usable_cpus() < 2) GTEST_SKIP() << "one CPU cannot become fewer";
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  ThreadPool pool(2);
  // A mask is that of a thread: the watch's takes this test's, as a set of CPUs for all threads would be.
  std::atomic<bool> is_narrow = false;
  const CpuWatch watch(
      pool,
      [&] {
        ::sched_setaffinity(0, sizeof(all), is_narrow ? &one : &all);
        return usable_cpus();
      },
      kInterval);
  EXPECT_EQ(width_of_step(pool), 2);
  is_narrow = true;
  EXPECT_TRUE(becomes(pool, 1));
  is_narrow = false;
  EXPECT_TRUE(becomes(pool, 2));
}

TEST(CpuWatch, EndsAtOnceAndAPoolOfOneWorkerNeedsNone) {
  const auto begin = std::chrono::steady_clock::now();
  ThreadPool pool(2), alone(1);
  int num_looks = 0;
  {
    const CpuWatch watch(pool, [] { return 1; }, std::chrono::hours(1));
    const CpuWatch needless(alone, [&] { return ++num_looks; }, kInterval);
    std::this_thread::sleep_for(10 * kInterval);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1));
  EXPECT_EQ(num_looks, 1);  // at the beginning
}

}  // namespace
}  // namespace octavo
