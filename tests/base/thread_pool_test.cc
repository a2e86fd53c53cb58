#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
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

TEST_P(ThreadPoolOf, AWorkerTakesItsShareInOrderAndThenWhatOthersLeft) {
  ThreadPool pool(GetParam());
  const ThreadPool::Step step(pool);
  constexpr std::size_t kItems = 1001, kGrain = 10, kPieces = 101;
  const auto workers = static_cast<std::size_t>(GetParam());
  const auto portion_of = [&](std::size_t begin) {
    std::size_t portion = 0;
    while (begin / kGrain >= kPieces * (portion + 1) / workers) ++portion;
    return portion;
  };
  std::vector<std::vector<std::size_t>> taken(workers);
  std::mutex mutex;
  pool.for_ranges(kItems, kGrain, [&](std::size_t begin, std::size_t, int worker) {
    const std::scoped_lock lock(mutex);
    taken[static_cast<std::size_t>(worker)].push_back(begin);
  });
  for (std::size_t w = 0; w < workers; ++w) {
    std::size_t before = 0;
    for (std::size_t i = 0; i < taken[w].size(); ++i) {
      const std::size_t distance = (portion_of(taken[w][i]) + workers - w) % workers;  // from its own portion
      EXPECT_GE(distance, before) << "worker " << w << " went back to an earlier portion";
      if (i > 0 && distance == before) {
        EXPECT_GT(taken[w][i], taken[w][i - 1]);
      }
      before = distance;
    }
  }
}

TEST_P(ThreadPoolOf, ManyShortRegionsInAStepEndInTime) {
  ThreadPool pool(GetParam());
  for (int step = 0; step < 3; ++step) {
    const ThreadPool::Step guard(pool);
    for (int region = 0; region < 50; ++region) expect_exact(pool, 33, 4);
  }
}

TEST_P(ThreadPoolOf, WorkersBeyondTheWidthTakeNoPiece) {
  ThreadPool pool(GetParam());
  for (const int width : {GetParam(), 1, 2, GetParam() + 7, 0, 2}) {
    pool.set_width(width);
    const int most = std::clamp(width, 1, GetParam());
    for (int round = 0; round < 20; ++round) {
      const ThreadPool::Step step(pool);
      EXPECT_EQ(pool.width(), most);
      std::atomic<int> num_beyond = 0;
      pool.for_ranges(100, 1, [&](std::size_t, std::size_t, int worker) { num_beyond += worker >= most; });
      EXPECT_EQ(num_beyond, 0);
      expect_exact(pool, 1000, 3);
    }
  }
}

// A region that was paused at one width goes on at another: no piece is lost, and none is done twice.
TEST(ThreadPoolWidth, MayChangeWhileARegionPauses) {
  ThreadPool pool(4);
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    for (int i = 0; !is_over; ++i) {
      pool.set_width(1 + i % 4);
      const ThreadPool::Step step(pool);
    }
  });
  {
    const ThreadPool::Step step(pool);
    const std::function<bool()> never = [] { return false; };
    ThreadPool::Pauses pauses(pool, never, {.shortest_turn = std::chrono::milliseconds(0)});
    while (pauses.count() < 40) expect_exact(pool, 100, 1);
  }
  is_over = true;
  other.join();
}

TEST(ThreadPoolWidth, APoolEndsWhileWorkersSleep) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(4);
    pool.set_width(1 + i % 3);
    const ThreadPool::Step step(pool);
    expect_exact(pool, 16, 1);
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

TEST_P(ThreadPoolOf, StepsOfSeveralThreadsTakeTurns) {
  ThreadPool pool(GetParam());
  constexpr int kDrivers = 3, kSteps = 40;
  std::atomic<int> num_in_step = 0, num_overlaps = 0;
  std::vector<int> values(64);
  const auto drive = [&] {
    for (int i = 0; i < kSteps; ++i) {
      const ThreadPool::Step step(pool);
      if (++num_in_step > 1) ++num_overlaps;
      pool.for_ranges(values.size(), 8, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t v = begin; v < end; ++v) ++values[v];
      });
      --num_in_step;
    }
  };
  std::vector<std::thread> drivers;
  for (int i = 0; i < kDrivers; ++i) drivers.emplace_back(drive);
  for (std::thread& driver : drivers) driver.join();
  EXPECT_EQ(num_overlaps, 0);
  EXPECT_EQ(values, std::vector<int>(64, kDrivers * kSteps));
}

// A thread that begins one step after another must let another in between.
TEST(ThreadPool, AStepThatWaitsIsNextWhenTheOneBeforeItEnds) {
  ThreadPool pool(2);
  std::vector<int> order;  // guarded by the steps themselves
  std::optional<ThreadPool::Step> first(std::in_place, pool);
  std::atomic<bool> begins = false;
  std::thread other([&] {
    begins = true;
    const ThreadPool::Step step(pool);
    order.push_back(2);
  });
  while (!begins) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  order.push_back(1);
  first.reset();
  {
    const ThreadPool::Step again(pool);
    order.push_back(3);
  }
  other.join();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_P(ThreadPoolOf, AnExceptionOfAnyWorkerEndsTheRegionAndIsThrownToTheCaller) {
  ThreadPool pool(GetParam());
  for (const int thrower : {0, GetParam() - 1}) {
    std::atomic<bool> is_thrown = false;
    const auto body = [&](std::size_t, std::size_t, int worker) {
      if (worker == thrower && !is_thrown.exchange(true)) throw std::runtime_error("a wheel is off");
      while (!is_thrown) std::this_thread::yield();
    };
    EXPECT_THROW(pool.for_ranges(64, 1, body), std::runtime_error) << thrower;
    expect_exact(pool, 100, 3);
  }
}

TEST_P(ThreadPoolOf, StepsOfOthersComeBetweenThePiecesOfARegionThatPauses) {
  ThreadPool pool(GetParam());
  const ThreadPool::Step step(pool);
  const std::function<bool()> always_wanted;
  std::atomic<int> num_done = 0, num_done_before_other = -1;
  std::vector<std::atomic<int>> visits(300);
  std::once_flag once;
  std::jthread other;
  ThreadPool::Pauses pauses(pool, always_wanted, {.shortest_turn = std::chrono::milliseconds(0)});
  pool.for_ranges(visits.size(), 1, [&](std::size_t begin, std::size_t, int) {
    std::call_once(once, [&] {
      other = std::jthread([&] {
        const ThreadPool::Step its_own(pool);
        expect_exact(pool, 50, 3);
        num_done_before_other = num_done.load();
      });
      while (!step.is_wanted_by_others()) std::this_thread::yield();
    });
    ++visits[begin];
    ++num_done;
  });
  EXPECT_GE(num_done_before_other, 1) << "it came before the region's end";
  EXPECT_EQ(pauses.count(), 1);
  EXPECT_GT(pauses.waited().count(), 0);
  if (GetParam() == 1) EXPECT_EQ(num_done_before_other, 1) << "behind the piece in which it began to wait";
  for (const std::atomic<int>& count : visits) EXPECT_EQ(count, 1);
}

TEST_P(ThreadPoolOf, ARegionThatNobodyWantsEndsBetweenTwoPieces) {
  ThreadPool pool(GetParam());
  const ThreadPool::Step step(pool);
  std::atomic<int> num_asked = 0, num_done = 0;
  const std::function<bool()> is_unwanted = [&] { return ++num_asked == 3; };
  {
    const ThreadPool::Pauses pauses(pool, is_unwanted, {.ask_every = std::chrono::milliseconds(0)});
    const auto body = [&](std::size_t, std::size_t, int worker) {
      ++num_done;
      while (worker != 0 && !pool.must_pause(worker)) std::this_thread::yield();
    };
    EXPECT_THROW(pool.for_ranges(10'000, 1, body), ThreadPool::Unwanted);
  }
  EXPECT_EQ(num_asked, 3);
  EXPECT_LE(num_done, 2 + GetParam());
  expect_exact(pool, 100, 3);
}

TEST(ThreadPool, AStepThatNeedNotPauseIsNotInterrupted) {
  ThreadPool pool(2);
  std::atomic<bool> has_come = false;
  std::jthread other;
  {
    const ThreadPool::Step step(pool);
    other = std::jthread([&] {
      const ThreadPool::Step its_own(pool);
      has_come = true;
    });
    while (!step.is_wanted_by_others()) std::this_thread::yield();
    for (int region = 0; region < 20; ++region) expect_exact(pool, 100, 1);
    EXPECT_FALSE(has_come);
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

/// Holds threads wherever they are, as a system does that gives their CPU to another process: a signal's handler keeps
/// a thread until it is let go. One at a time in a process.
class HeldThreads {
 public:
  HeldThreads() {
    struct sigaction action = {};
    action.sa_handler = [](int) {
      ++num_held_;
      while (is_holding_) continue;
      --num_held_;
    };
    ::sigaction(SIGUSR1, &action, nullptr);
  }
  ~HeldThreads() {
    let_go();
    ::signal(SIGUSR1, SIG_DFL);
  }
  HeldThreads(const HeldThreads&) = delete;
  HeldThreads& operator=(const HeldThreads&) = delete;

  void hold(const std::vector<pthread_t>& threads) {
    is_holding_ = true;
    for (const pthread_t thread : threads) ::pthread_kill(thread, SIGUSR1);
    while (num_held_ < static_cast<int>(threads.size())) std::this_thread::yield();
  }
  void let_go() {
    is_holding_ = false;
    while (num_held_ > 0) std::this_thread::yield();
  }

 private:
  static inline std::atomic<bool> is_holding_ = false;
  static inline std::atomic<int> num_held_ = 0;
};

/// The threads of a pool but for the caller's.
std::vector<pthread_t> workers_of(ThreadPool& pool) {
  std::vector<pthread_t> threads(static_cast<std::size_t>(pool.num_threads()));
  std::atomic<int> num_seen = 0;
  pool.for_ranges(threads.size(), 1, [&](std::size_t, std::size_t, int worker) {
    threads[static_cast<std::size_t>(worker)] = ::pthread_self();
    for (++num_seen; num_seen < pool.num_threads();) std::this_thread::yield();
  });
  threads.erase(threads.begin());
  return threads;
}

TEST_P(ThreadPoolOf, ARegionNeedsNoWorkerWhoHasNoneOfItsPieces) {
  ThreadPool pool(GetParam());
  const std::vector<pthread_t> workers = workers_of(pool);
  HeldThreads held;
  held.hold(workers);
  for (int region = 0; region < 20; ++region) expect_exact(pool, 100, 3);
  {
    const ThreadPool::Step step(pool);
    for (int region = 0; region < 20; ++region) expect_exact(pool, 100, 3);
    const std::function<bool()> always_wanted;
    const ThreadPool::Pauses pauses(pool, always_wanted);
    expect_exact(pool, 100, 3);
  }
}

// Wherever they are: between regions, before and after they take a piece, in its midst, and as they count it.
TEST_P(ThreadPoolOf, RegionsAreExactHoweverWorkersAreHeld) {
  ThreadPool pool(GetParam());
  const std::vector<pthread_t> workers = workers_of(pool);
  std::atomic<bool> is_over = false;
  std::jthread holder([&] {
    HeldThreads held;
    for (unsigned round = 0; !is_over; ++round) {
      if (!workers.empty()) held.hold({workers[round % workers.size()]});
      std::this_thread::sleep_for(std::chrono::microseconds(50 + round % 7 * 30));
      held.let_go();
      std::this_thread::yield();
    }
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (std::size_t items = 1; std::chrono::steady_clock::now() < until; items = items % 97 + 1) {
    const ThreadPool::Step step(pool);
    for (int region = 0; region < 5; ++region) expect_exact(pool, items, 1 + items % 3);
  }
  is_over = true;
}

TEST_P(ThreadPoolOf, ARegionWaitsForAPieceInTheHandsOfAWorkerWhoIsHeld) {
  if (GetParam() == 1) GTEST_SKIP() << "there is nobody else to be held";
  ThreadPool pool(GetParam());
  const std::vector<pthread_t> workers = workers_of(pool);
  HeldThreads held;
  std::atomic<bool> has_piece = false, is_held = false, is_done = false;
  std::jthread holder([&] {
    while (!has_piece) std::this_thread::yield();
    held.hold({workers.front()});
    is_held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held.let_go();
  });
  pool.for_ranges(64, 1, [&](std::size_t, std::size_t, int worker) {
    if (worker == 1) {
      has_piece = true;
      while (!is_held) continue;
      is_done = true;
    }
    while (!is_held) std::this_thread::yield();
  });
  EXPECT_TRUE(is_done);
}

TEST(ThreadPool, ARegionMayHaveMorePiecesThanItsPortionsCount) {
  ThreadPool pool(2);
  expect_exact(pool, 200'001, 1);
  expect_exact(pool, 300'001, 2);
}

TEST(ThreadPool, CanBeMadeAndDestroyedWithoutWork) {
  for (int i = 0; i < 20; ++i) ThreadPool pool(4);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their own memory has no room in a limit
TEST(ThreadPoolDeathTest, AThreadThatTheSystemRefusesIsAnExceptionAndLeavesNoneBehind) {
  const auto limited = [] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{256} << 20);
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(1);
    try {
      const ThreadPool pool(kMaxThreads);
    } catch (const std::system_error&) {
      std::_Exit(0);
    }
    std::_Exit(2);
  };
  EXPECT_EXIT(limited(), testing::ExitedWithCode(0), "");
}
#endif

TEST(ThreadPool, LessThanOneThreadIsOne) {
  ThreadPool pool(0);
  EXPECT_EQ(pool.num_threads(), 1);
  expect_exact(pool, 10, 3);
}

}  // namespace
}  // namespace octavo
