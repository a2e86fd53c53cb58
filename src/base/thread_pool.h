// A fork-join pool: the calling thread is worker 0, the others wait for its regions.
//
// Its maker owns it, an engine or several together (octavo/resources.h), and passes it by reference.
// One thread at a time drives a pool: threads that share it run their regions inside a Step, and
// steps take turns in the order in which they were begun. Inside a step idle workers spin, so that a
// region costs about a microsecond; outside they sleep in the kernel. Work is taken in pieces, so
// that a worker that the system has taken off its CPU does not hold the others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/step_clock.h"

namespace octavo {

/// The bound of options, which is more than any machine can use.
inline constexpr int kMaxThreads = 1024;

class ThreadPool {
 public:
  /// A pool of `num_threads` workers, the caller included; at least 1. Throws std::system_error where the system
  /// refuses a thread, and leaves none behind.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  /// The time of the present step from now on belongs to `part`, where its clock runs.
  void enter(StepPart part) {
    if (clock_ != nullptr) clock_->enter(part);
  }

  /// A thread's turn to use the pool. While a Step lives, the workers spin between regions, and floats are rounded as
  /// IEEE says. A Step begins when steps of other threads that came earlier are over; a thread has one at a time.
  class Step {
   public:
    /// `clock`: is told how long threads work and wait in the step's regions; null: nobody is.
    explicit Step(ThreadPool& pool, StepClock* clock = nullptr);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    /// Whether another thread waits for its step. Any thread may ask.
    bool is_wanted_by_others() const;

   private:
    ThreadPool& pool_;
    std::uint32_t saved_mxcsr_;
  };

  /// In the midst of a step, between two of its regions and on its thread: if others wait, and the step has had the
  /// pool for a while, their steps come first. Returns how long these took.
  StepClock::Clock::duration give_way();

  /// Calls `body(begin, end, worker)` over [0, num_items) in pieces of `grain` items, on all workers; returns when all
  /// is done. Each worker has a portion of consecutive pieces and takes them in order, then those that others have
  /// left. So each reads memory of its own; two that read it by turns would get half the rate. The result must not
  /// depend on the split.
  template <class Body>
  void for_ranges(std::size_t num_items, std::size_t grain, const Body& body) {
    if (num_items == 0) return;
    if (num_threads_ == 1 || num_items <= grain) {
      body(std::size_t{0}, num_items, 0);
      return;
    }
    run({&invoke<Body>, static_cast<const void*>(&body), num_items, grain, clock_ != nullptr});
  }

 private:
  struct Region {
    void (*call)(const void* body, std::size_t begin, std::size_t end, int worker) = nullptr;
    const void* body = nullptr;
    std::size_t num_items = 0;
    std::size_t grain = 1;
    bool is_timed = false;
  };

  /// The pieces of a worker's portion that nobody has taken yet.
  struct alignas(64) Portion {
    std::atomic<std::size_t> next_piece{0};
    std::size_t end_piece = 0;
    StepClock::Clock::duration worked = {};  // in a region that is timed
  };

  template <class Body>
  static void invoke(const void* body, std::size_t begin, std::size_t end, int worker) {
    (*static_cast<const Body*>(body))(begin, end, worker);
  }

  void begin_turn();
  void end_turn();
  void run(const Region& region);
  void work(int worker);
  void wait_for_workers();
  void worker_main(int worker);
  void stop_workers();
  std::uint32_t wait_for_region(std::uint32_t seen);

  const int num_threads_;
  const bool oversubscribed_;  // more workers than CPUs: give the CPU away while waiting
  Region region_;
  StepClock* clock_ = nullptr;                       // of the step that has the pool; null: it is not timed
  std::vector<Portion> portions_;                    // [num_threads]
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // odd or even does not matter; a change starts a region
  alignas(64) std::atomic<int> num_running_{0};
  alignas(64) std::atomic<bool> spinning_{false};
  std::atomic<bool> stop_{false};
  StepClock::Clock::time_point turn_began_ = {};
  std::atomic<std::uint32_t> next_turn_{0};  // the turn of the step that is begun next
  std::atomic<std::uint32_t> turn_{0};       // the turn of the step that has the pool, or of the next step
  std::vector<std::thread> threads_;
};

}  // namespace octavo
