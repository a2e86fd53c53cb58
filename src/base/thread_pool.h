// A fork-join pool: the calling thread is worker 0, the others wait for its regions.
//
// Its maker owns it, an engine or several together (octavo/resources.h), and passes it by reference.
// One thread at a time drives a pool: threads that share it run their regions inside a Step, and
// steps take turns in the order in which they were begun. Inside a step idle workers spin, so that a
// region costs about a microsecond; outside they sleep in the kernel. Work is taken in pieces, and a
// region ends when its pieces are done: a worker that the system has taken off its CPU holds the
// others for the piece in its hands, and for nothing where it has none. A step that may take long is
// paused between pieces for the steps of others. Where the process has fewer CPUs than the pool has
// workers, some of them can be left out: they sleep until the pool is made wider again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "base/step_clock.h"

namespace octavo {

/// The bound of options for threads, which is more than any machine can use.
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

  /// Lets only the first `width` workers take part, at least 1 and at most num_threads(), from the next step on. No
  /// result changes by it. Any thread may say it, at any time.
  void set_width(int width);
  /// How many workers take part in the steps of now.
  int width() const { return width_.load(std::memory_order_relaxed); }

  /// Makes the present step's time from now on belong to `part`, where its clock runs.
  void enter(StepPart part) {
    if (clock_ != nullptr) clock_->enter(part);
  }

  /// A thread's turn to use the pool. While a Step lives, the workers spin between regions, and floats are rounded as
  /// IEEE says. A Step begins when steps of other threads that came earlier are over; a thread has one at a time.
  class Step {
   public:
    /// `clock`: is told how long threads work and wait in the step's regions; null: none is.
    explicit Step(ThreadPool& pool, StepClock* clock = nullptr);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    /// Whether another thread waits for its step. Any thread may ask.
    bool is_wanted_by_others() const { return pool_.others_wait(); }

   private:
    ThreadPool& pool_;
    std::uint32_t saved_mxcsr_;
  };

  /// The exception out of a region whose step nobody wants any more.
  class Unwanted : public std::exception {
   public:
    const char* what() const noexcept override { return "nobody wants the step any more"; }
  };

  /// While this lives, a long step may be paused: within its regions, between two pieces, waiting steps of others go
  /// first once this one has had the pool for a while. Now and then it asks whether anybody wants the step; if not, the
  /// region throws Unwanted. Used on the step's thread.
  class Pauses {
   public:
    struct Rules {
      std::chrono::milliseconds shortest_turn{20};  // the least time that this step has between two pauses
      std::chrono::milliseconds ask_every{5};
    };
    /// `is_unwanted` is called on the step's thread, and must outlive this; empty: the step is always wanted.
    Pauses(ThreadPool& pool, const std::function<bool()>& is_unwanted, const Rules& rules);
    Pauses(ThreadPool& pool, const std::function<bool()>& is_unwanted) : Pauses(pool, is_unwanted, Rules()) {}
    ~Pauses();
    Pauses(const Pauses&) = delete;
    Pauses& operator=(const Pauses&) = delete;

    /// The time that other steps took in the pauses.
    StepClock::Clock::duration waited() const { return waited_; }
    int count() const { return count_; }

   private:
    friend class ThreadPool;
    struct Left {
      std::size_t next_piece = 0, end_piece = 0;
    };
    bool is_due();

    ThreadPool& pool_;
    const std::function<bool()>& is_unwanted_;
    const Rules rules_;
    StepClock::Clock::time_point asked_ = {};
    bool has_worked_ = false;  // whether a piece was done since the last pause
    bool is_dropped_ = false;
    std::vector<Left> left_;  // [num_threads] what is left of the paused region
    StepClock::Clock::duration waited_ = {};
    int count_ = 0;
  };

  /// Whether the present region is to pause. For bodies with as many pieces as workers, each of which takes long: one
  /// that then returns is called again, in the next region, for what it has left.
  bool must_pause(int worker) {
    if (worker == 0 && pauses_ != nullptr && pauses_->is_due()) is_pausing_.store(true, std::memory_order_relaxed);
    return is_pausing_.load(std::memory_order_relaxed);
  }

  /// Calls `body(begin, end, worker)` over [0, num_items) in pieces of `grain` items, on all workers; returns when all
  /// are done. Each worker has a portion of consecutive pieces and takes them in order, then those that others have
  /// left. So each reads memory of its own; two that took neighbouring pieces by turns would get half the rate. The
  /// result must not depend on the split. An exception of the body on any worker ends the region, and is thrown here.
  template <class Body>
  void for_ranges(std::size_t num_items, std::size_t grain, const Body& body) {
    if (num_items == 0) return;
    if (pauses_ != nullptr) pause_if_due();
    if (num_items <= grain || (width() == 1 && pauses_ == nullptr)) {
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
    std::size_t first_item = 0;  // the item of the region's piece 0
  };

  /// A worker's portion of a region's pieces. The word says to which region they belong, where they end, and which is
  /// the next free one: a worker that comes after the region's end finds another number, and takes nothing.
  struct alignas(64) Portion {
    std::atomic<std::uint64_t> word{0};
    std::atomic<std::uint32_t> num_done{0};       // how many of the region's pieces are done
    std::uint32_t next_piece = 0, end_piece = 0;  // what is left between regions; only the caller uses them
    StepClock::Clock::duration worked = {};       // the time in a timed region of the worker with this portion
  };

  template <class Body>
  static void invoke(const void* body, std::size_t begin, std::size_t end, int worker) {
    (*static_cast<const Body*>(body))(begin, end, worker);
  }

  void begin_turn();
  void end_turn();
  bool others_wait() const {
    return next_turn_.load(std::memory_order_relaxed) != turn_.load(std::memory_order_relaxed) + 1;
  }
  void run(Region region);
  void share_out(std::size_t num_pieces);
  void run_pieces(const Region& region);
  std::uint32_t publish();
  void pause_if_due();
  /// Lets the waiting steps of others go first; the portions of the region are afterwards as they were before.
  void pause();
  void work(int worker, std::uint32_t number) noexcept;
  bool goes_on(int worker) noexcept;
  void keep_failure() noexcept;
  void call_piece(const Region& region, std::size_t piece, int worker) noexcept;
  bool wait_for_pieces();
  void follow_caller();
  void worker_main(int worker);
  void sleep_until_wide(int worker);
  void stop_workers();
  std::uint32_t wait_for_region(std::uint32_t seen);

  const int num_threads_;
  const bool oversubscribed_;                        // more workers than CPUs: waiting workers yield
  Region region_;                                    // only a thread that has taken one of its pieces reads it
  StepClock* clock_ = nullptr;                       // the clock of the step that has the pool; null: it is not timed
  Pauses* pauses_ = nullptr;                         // the pauses of that step; null: it is not paused
  std::exception_ptr failure_ = {};                  // the exception of the region, where it has failed
  std::vector<Portion> portions_;                    // [num_threads]
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // the number of the last region that began
  alignas(64) std::atomic<bool> spinning_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int> wanted_width_;                 // the width of the next step
  std::atomic<int> width_;                        // changed where a turn begins; workers that it leaves out wait on it
  std::atomic<bool> is_pausing_{false};           // whether the region ends between two pieces
  std::atomic<bool> has_failed_{false};           // whether a body has thrown
  std::atomic<bool> is_caller_disturbed_{false};  // whether the caller lost its CPU lately
  StepClock::Clock::time_point last_region_ = {}, disturbed_until_ = {};  // the caller's, about the step's last region
  StepClock::Clock::time_point turn_began_ = {};
  std::atomic<std::uint32_t> next_turn_{0};  // the turn of the next step to begin
  std::atomic<std::uint32_t> turn_{0};       // the turn of the step that has the pool, or of the next step
  std::vector<std::jthread> threads_;
};

}  // namespace octavo
