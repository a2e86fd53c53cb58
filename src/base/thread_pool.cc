#include "base/thread_pool.h"

#include <algorithm>
#include <utility>

#include "base/cpu_info.h"
#include "base/started_thread.h"
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
    for (int worker = 1; worker < num_threads_; ++worker)  // what bodies throw is kept for the caller
      threads_.push_back(
          start_thread([this, worker](const std::stop_token&) { worker_main(worker); }, [](const Error&) {}));
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
  for (std::jthread& thread : threads_) thread.join();
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

// Not a mutex: the thread that ends one step and begins the next would take that again before those that wait for it.
void ThreadPool::begin_turn() {
  const std::uint32_t mine = next_turn_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t turn = turn_.load(std::memory_order_acquire); turn != mine;
       turn = turn_.load(std::memory_order_acquire))
    turn_.wait(turn, std::memory_order_acquire);
  turn_began_ = StepClock::Clock::now();
}

ThreadPool::Pauses::Pauses(ThreadPool& pool, const std::function<bool()>& is_unwanted, const Rules& rules)
    : pool_(pool), is_unwanted_(is_unwanted), rules_(rules), left_(to_size(pool.num_threads())) {
  pool_.pauses_ = this;
}

ThreadPool::Pauses::~Pauses() {
  pool_.pauses_ = nullptr;
  pool_.is_pausing_.store(false, std::memory_order_relaxed);
}

/// Never before a piece was done: however many others wait, the step gets on.
bool ThreadPool::Pauses::is_due() {
  if (!std::exchange(has_worked_, true)) return false;
  const StepClock::Clock::time_point now = StepClock::Clock::now();
  if (!is_dropped_ && is_unwanted_ && now - asked_ >= rules_.ask_every) {
    asked_ = now;
    is_dropped_ = is_unwanted_();
  }
  return is_dropped_ || (pool_.others_wait() && now - pool_.turn_began_ >= rules_.shortest_turn);
}

void ThreadPool::pause_if_due() {
  if (must_pause(0)) pause();
}

void ThreadPool::pause() {
  Pauses& pauses = *pauses_;
  is_pausing_.store(false, std::memory_order_relaxed);
  if (pauses.is_dropped_) throw Unwanted();
  const StepClock::Clock::time_point begin = StepClock::Clock::now();
  for (std::size_t w = 0; w < portions_.size(); ++w)
    pauses.left_[w] = {portions_[w].next_piece.load(std::memory_order_relaxed), portions_[w].end_piece};
  StepClock* const clock = clock_;
  const StepPart part = clock == nullptr ? StepPart::kBetween : clock->part();
  enter(StepPart::kBetween);
  pauses_ = nullptr;
  end_turn();
  begin_turn();
  pauses_ = &pauses;
  clock_ = clock;
  enter(part);
  spinning_.store(true, std::memory_order_relaxed);
  for (std::size_t w = 0; w < portions_.size(); ++w) {
    portions_[w].next_piece.store(pauses.left_[w].next_piece, std::memory_order_relaxed);
    portions_[w].end_piece = pauses.left_[w].end_piece;
  }
  pauses.has_worked_ = false;
  pauses.waited_ += turn_began_ - begin;
  ++pauses.count_;
}

void ThreadPool::end_turn() {
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
}

void ThreadPool::run(const Region& region) {
  const std::size_t pieces = (region.num_items + region.grain - 1) / region.grain;
  std::size_t first = 0;
  for (std::size_t w = 0; w < portions_.size(); ++w) {
    portions_[w].next_piece.store(first, std::memory_order_relaxed);
    first = pieces * (w + 1) / portions_.size();
    portions_[w].end_piece = first;
  }
  run_pieces(region);
  while (is_pausing_.load(std::memory_order_relaxed)) {
    pause();
    run_pieces(region);
  }
}

/// All that are left, or as many as there are before a pause.
void ThreadPool::run_pieces(const Region& region) {
  region_ = region;
  num_running_.store(num_threads_ - 1, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  work(0);
  const auto begin = region.is_timed ? StepClock::Clock::now() : StepClock::Clock::time_point();
  wait_for_workers();
  if (region.is_timed) {
    StepClock::Clock::duration worked = {};
    for (const Portion& portion : portions_) worked += portion.worked;
    worked -= portions_[0].worked;  // the caller's, which the clock counts itself
    clock_->add_region(StepClock::Clock::now() - begin, worked);
  }
  if (!has_failed_.exchange(false, std::memory_order_relaxed)) return;
  is_pausing_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(failure_, {}));
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

void ThreadPool::work(int worker) noexcept {
  const bool is_timed = region_.is_timed;
  const auto begin = is_timed ? StepClock::Clock::now() : StepClock::Clock::time_point();
  try {
    take_pieces(worker);
  } catch (...) {
    if (!has_failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
  }
  if (is_timed) portions_[to_size(worker)].worked = StepClock::Clock::now() - begin;
}

void ThreadPool::take_pieces(int worker) {
  const Region region = region_;
  for (std::size_t i = 0; i < portions_.size(); ++i) {
    Portion& portion = portions_[(to_size(worker) + i) % portions_.size()];
    while (!must_pause(worker) && !has_failed_.load(std::memory_order_relaxed)) {
      const std::size_t piece = portion.next_piece.fetch_add(1, std::memory_order_relaxed);
      if (piece >= portion.end_piece) break;
      const std::size_t first = piece * region.grain;
      region.call(region.body, first, std::min(first + region.grain, region.num_items), worker);
    }
  }
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
