// The cost of a parallel region whose work is nothing: begin, taking of pieces, end. Workers that spin within a step,
// workers that have just left one, and workers that sleep.
//
//     bench_fork_join [--threads N] [--regions 20000]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include "base/cpu_info.h"
#include "base/thread_pool.h"

namespace octavo::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Microseconds of each of `count` regions of `pieces` pieces; before() comes before each and is not timed.
template <class Before>
std::vector<double> time_regions(ThreadPool& pool, int count, std::size_t pieces, const Before& before) {
  std::vector<double> times(static_cast<std::size_t>(count));
  std::atomic<std::size_t> sum{0};
  for (double& time : times) {
    before();
    const auto start = Clock::now();
    pool.for_ranges(pieces, 1, [&](std::size_t begin, std::size_t, int) {
      if (begin == pieces) sum += begin;  // never: no piece is empty
    });
    time = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
  std::ranges::sort(times);
  return times;
}

void report(std::string_view name, const std::vector<double>& sorted) {
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  std::cout << fmt::format("| {} | {:.2f} | {:.2f} | {:.2f} |\n", name, at(0.1), at(0.5), at(0.99)) << std::flush;
}

int run(int argc, char** argv) {
  int threads = 0, regions = 20000;
  CLI::App app("Times parallel regions that do nothing");
  app.add_option("--threads", threads)->check(CLI::Range(0, 1024));
  app.add_option("--regions", regions)->check(CLI::Range(100, 10'000'000));
  CLI11_PARSE(app, argc, argv);
  ThreadPool pool(threads == 0 ? default_threads() : threads);
  const auto workers = static_cast<std::size_t>(pool.num_threads());
  std::cout << fmt::format("{} threads, microseconds\n\n| region | 10 % below | median | 99 % below |\n", workers)
            << "|---|--:|--:|--:|\n";
  const auto nothing = [] {};
  {
    const ThreadPool::Step step(pool);
    time_regions(pool, 100, workers, nothing);  // the workers wake up
    report("a piece for each thread", time_regions(pool, regions, workers, nothing));
    report("8 pieces for each thread", time_regions(pool, regions, 8 * workers, nothing));
    // Long enough ago that the others have begun to give their CPUs away.
    const auto serial = [] {
      for (const auto until = Clock::now() + std::chrono::milliseconds(1); Clock::now() < until;) continue;
    };
    report("after 1 ms of one thread's work", time_regions(pool, regions / 100, workers, serial));
  }
  std::vector<double> first;
  for (int i = 0; i < regions / 100; ++i) {
    const ThreadPool::Step step(pool);
    first.push_back(time_regions(pool, 1, workers, nothing).front());
  }
  std::ranges::sort(first);
  report("first of a step that follows the last at once", first);
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  report("after 2 ms without a step", time_regions(pool, regions / 100, workers, sleep));
  return 0;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) { return octavo::bench::run(argc, argv); }
