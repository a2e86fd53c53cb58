#include "base/thread_pool.h"

#include <algorithm>

#include "base/cpu_info.h"
#include "base/to_size.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octavo {
namespace {

void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Every worker rounds to nearest and keeps denormals, whatever the embedding program has set.
std::uint32_t set_ieee_rounding() {
#if defined(__x86_64__)
  constexpr std::uint32_t kDefault = 0x1F80;
  const std::uint32_t saved = _mm_getcsr();
  _mm_setcsr(kDefault);
  return saved;
#else
  return 0;
#endif
}

void restore_rounding([[maybe_unused]] std::uint32_t saved) {
#if defined(__x86_64__)
  _mm_setcsr(saved);
#endif
}

// About 50 microseconds; a step's serial stretches are shorter.
constexpr int kSpinsBeforeYield = 1 << 12;

}  // namespace

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(std::max(1, num_threads)),
      oversubscribed_(num_threads_ > usable_cpus()),
      portions_(to_size(num_threads_)) {
  threads_.reserve(to_size(num_threads_ - 1));
  try {
    for (int worker = 1; worker < num_threads_; ++worker)
      threads_.emplace_back([this, worker] { worker_main(worker); });
  } catch (...) {
    stop_workers();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop_workers(); }

void ThreadPool::stop_workers() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

ThreadPool::Step::Step(ThreadPool& pool, StepClock* clock) : pool_(pool), saved_mxcsr_(set_ieee_rounding()) {
  pool_.begin_turn();
  pool_.clock_ = clock != nullptr && clock->is_running() ? clock : nullptr;
  pool_.spinning_.store(true, std::memory_order_relaxed);
}

ThreadPool::Step::~Step() {
  pool_.spinning_.store(false, std::memory_order_relaxed);
  pool_.clock_ = nullptr;
  pool_.end_turn();
  restore_rounding(saved_mxcsr_);
}

bool ThreadPool::Step::is_wanted_by_others() const {
  return pool_.next_turn_.load(std::memory_order_relaxed) != pool_.turn_.load(std::memory_order_relaxed) + 1;
}

// Not a mutex: the thread that ends one step and begins the next would take that again before those that wait for it.
void ThreadPool::begin_turn() {
  const std::uint32_t mine = next_turn_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t turn = turn_.load(std::memory_order_acquire); turn != mine;
       turn = turn_.load(std::memory_order_acquire))
    turn_.wait(turn, std::memory_order_acquire);
  turn_began_ = StepClock::Clock::now();
}

StepClock::Clock::duration ThreadPool::give_way() {
  constexpr std::chrono::milliseconds kShortestTurn{20};
  const StepClock::Clock::time_point begin = StepClock::Clock::now();
  const bool others_wait = next_turn_.load(std::memory_order_relaxed) != turn_.load(std::memory_order_relaxed) + 1;
  if (!others_wait || begin - turn_began_ < kShortestTurn) return {};
  StepClock* const clock = clock_;
  if (clock != nullptr) clock->enter(StepPart::kBetween);
  end_turn();
  begin_turn();
  clock_ = clock;
  spinning_.store(true, std::memory_order_relaxed);
  return turn_began_ - begin;
}

void ThreadPool::end_turn() {
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
}

void ThreadPool::run(const Region& region) {
  region_ = region;
  const std::size_t pieces = (region.num_items + region.grain - 1) / region.grain;
  std::size_t first = 0;
  for (std::size_t w = 0; w < portions_.size(); ++w) {
    portions_[w].next_piece.store(first, std::memory_order_relaxed);
    first = pieces * (w + 1) / portions_.size();
    portions_[w].end_piece = first;
  }
  num_running_.store(num_threads_ - 1, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  work(0);
  if (!region.is_timed) return wait_for_workers();
  const auto begin = StepClock::Clock::now();
  wait_for_workers();
  StepClock::Clock::duration worked = {};
  for (const Portion& portion : portions_) worked += portion.worked;
  worked -= portions_[0].worked;  // the caller's, which the clock counts itself
  clock_->add_region(StepClock::Clock::now() - begin, worked);
}

void ThreadPool::wait_for_workers() {
  for (int spins = 0; num_running_.load(std::memory_order_acquire) != 0; ++spins) {
    if (oversubscribed_ || spins > kSpinsBeforeYield) {
      std::this_thread::yield();
    } else {
      pause_cpu();
    }
  }
}

void ThreadPool::work(int worker) {
  const Region region = region_;
  const auto begin = region.is_timed ? StepClock::Clock::now() : StepClock::Clock::time_point();
  for (std::size_t i = 0; i < portions_.size(); ++i) {
    Portion& portion = portions_[(to_size(worker) + i) % portions_.size()];
    for (;;) {
      const std::size_t piece = portion.next_piece.fetch_add(1, std::memory_order_relaxed);
      if (piece >= portion.end_piece) break;
      const std::size_t first = piece * region.grain;
      region.call(region.body, first, std::min(first + region.grain, region.num_items), worker);
    }
  }
  if (region.is_timed) portions_[to_size(worker)].worked = StepClock::Clock::now() - begin;
}

std::uint32_t ThreadPool::wait_for_region(std::uint32_t seen) {
  bool was_in_step = false;
  for (int spins = 0;; ++spins) {
    const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (epoch != seen) return epoch;
    const bool in_step = spinning_.load(std::memory_order_relaxed);
    if (was_in_step && !in_step) spins = 0;  // the next step may follow at once: to wake up takes as long as this
    was_in_step = in_step;
    if (!in_step && spins >= kSpinsBeforeYield) {
      epoch_.wait(seen, std::memory_order_acquire);
    } else if (oversubscribed_ || spins > kSpinsBeforeYield) {
      std::this_thread::yield();
    } else {
      pause_cpu();
    }
  }
}

void ThreadPool::worker_main(int worker) {
  set_ieee_rounding();
  std::uint32_t seen = 0;
  for (;;) {
    seen = wait_for_region(seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    work(worker);
    num_running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace octavo
