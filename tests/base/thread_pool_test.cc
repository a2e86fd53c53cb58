#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cpu_info.h"

namespace octavo {
namespace {

class ThreadPoolOf : public testing::TestWithParam<int> {};
// 8 times the CPUs: workers that wait must give the CPU away, or this takes hours.
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, testing::Values(1, 2, 3, 8 * usable_cpus()));

/// Runs a region and checks that it covered each item exactly once, in pieces of at most `grain` where it was split.
void expect_exact(ThreadPool& pool, std::size_t num_items, std::size_t grain) {
  std::vector<std::atomic<int>> visits(num_items);
  std::atomic<int> bad_pieces = 0;
  pool.for_ranges(num_items, grain, [&](std::size_t begin, std::size_t end, int worker) {
    const bool whole = begin == 0 && end == num_items;
    if (begin >= end || end > num_items || (end - begin > grain && !whole)) ++bad_pieces;
    if (worker < 0 || worker >= pool.num_threads()) ++bad_pieces;
    for (std::size_t i = begin; i < end; ++i) ++visits[i];
  });
  EXPECT_EQ(bad_pieces, 0);
  for (std::size_t i = 0; i < num_items; ++i) ASSERT_EQ(visits[i], 1) << "item " << i << " of " << num_items;
}

TEST_P(ThreadPoolOf, ARegionVisitsEachItemOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.num_threads(), GetParam());
  for (const std::size_t num_items : {0, 1, 2, 3, 7, 64, 1000})
    for (const std::size_t grain : {1, 2, 16, 1000}) expect_exact(pool, num_items, grain);
}

TEST_P(ThreadPoolOf, APieceIsToldWhereItsWorkersNextPieceBegins) {
  ThreadPool pool(GetParam());
  const ThreadPool::Step step(pool);
  constexpr std::size_t kItems = 1001, kGrain = 10;
  std::vector<std::size_t> told(static_cast<std::size_t>(GetParam()), kItems);  // by each worker's piece before
  std::size_t num_told = 0, wrong = 0, visited = 0;
  std::mutex mutex;
  pool.for_ranges(kItems, kGrain, [&](std::size_t begin, std::size_t end, std::size_t next, int worker) {
    const std::scoped_lock lock(mutex);
    std::size_t& expected = told[static_cast<std::size_t>(worker)];
    if (expected != kItems && begin != expected) ++wrong;
    expected = next;
    num_told += next != kItems ? 1 : 0;
    visited += end - begin;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(visited, kItems);
  for (const std::size_t next : told) EXPECT_EQ(next, kItems) << "a worker had a piece less than it was told";
  if (GetParam() == 2 || GetParam() == 3) {
    EXPECT_GE(num_told, kItems / kGrain / 2);
  }
}

TEST_P(ThreadPoolOf, ManyShortRegionsInAStepEndInTime) {
  ThreadPool pool(GetParam());
  for (int step = 0; step < 3; ++step) {
    const ThreadPool::Step guard(pool);
    for (int region = 0; region < 50; ++region) expect_exact(pool, 33, 4);
  }
}

TEST_P(ThreadPoolOf, WhatARegionWroteIsSeenAfterIt) {
  ThreadPool pool(GetParam());
  std::vector<int> values(257);
  for (int round = 1; round <= 20; ++round) {
    pool.for_ranges(values.size(), 8, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) values[i] += static_cast<int>(i);
    });
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], round * static_cast<int>(i));
  }
}

TEST(ThreadPool, TheCallerWorksToo) {
  ThreadPool pool(2);
  std::atomic<int> workers_seen = 0;  // worker 0 adds 1, worker 1 adds 2
  // Two items, of which each waits until both are being worked on.
  pool.for_ranges(2, 1, [&](std::size_t, std::size_t, int worker) {
    workers_seen += 1 + worker;
    while (workers_seen < 3) std::this_thread::yield();
  });
  EXPECT_EQ(workers_seen, 3);
}

TEST(ThreadPool, CanBeMadeAndDestroyedWithoutWork) {
  for (int i = 0; i < 20; ++i) ThreadPool pool(4);
}

TEST(ThreadPool, LessThanOneThreadIsOne) {
  ThreadPool pool(0);
  EXPECT_EQ(pool.num_threads(), 1);
  expect_exact(pool, 10, 3);
}

}  // namespace
}  // namespace octavo
