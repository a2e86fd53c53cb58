#include "base/thread_pool.h"

#include <algorithm>
#include <optional>
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

// About 50 microseconds; the serial stretches of a step are shorter.
constexpr int kSpinsBeforeYield = 1 << 12;

// A thread that takes longer than this to come back was off its CPU: regions of answers are shorter.
constexpr std::chrono::microseconds kAway{500};
constexpr std::chrono::milliseconds kDisturbed{20};  // the time after the caller was off its CPU

/// A worker's turn on its CPU. A system with other threads to run takes the CPU away after some milliseconds, most
/// likely in the midst of a piece, which then holds everybody up until the worker is back. So the worker offers its CPU
/// before that, between two regions, where its absence costs no more than its help.
class CpuTurn {
 public:
  void offer_if_due() {
    const StepClock::Clock::time_point now = StepClock::Clock::now();
    if (now - seen_ > kAway) began_ = now;  // the thread was off its CPU, or a region was long
    seen_ = now;
    if (now - began_ < kLongest) return;
    std::this_thread::yield();
    seen_ = began_ = StepClock::Clock::now();
  }

 private:
  static constexpr std::chrono::microseconds kLongest{1000};

  StepClock::Clock::time_point began_ = {}, seen_ = {};
};

// A portion's word: the region's number in the upper half, then the end of its pieces and the next one, 16 bits each. A
// number of 16 bits would repeat within a second.
constexpr std::size_t kMostPieces = 0xFFFF;
constexpr std::uint64_t word_of(std::uint32_t number, std::uint32_t end, std::uint32_t next) {
  return std::uint64_t{number} << 32 | std::uint64_t{end} << 16 | next;
}
constexpr std::uint32_t number_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t end_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 16 & kMostPieces); }
constexpr std::uint32_t next_of(std::uint64_t word) { return static_cast<std::uint32_t>(word & kMostPieces); }

/// Takes the next piece, if the portion is still of this region and has one.
std::optional<std::uint32_t> take_piece(std::atomic<std::uint64_t>& portion, std::uint32_t number) {
  std::uint64_t word = portion.load(std::memory_order_acquire);
  while (number_of(word) == number && next_of(word) < end_of(word)) {
    if (portion.compare_exchange_weak(word, word + 1, std::memory_order_acquire)) return next_of(word);
  }
  return std::nullopt;
}

/// Closes a portion, and gives the next piece of it, which nobody has taken or will take.
std::uint32_t close_portion(std::atomic<std::uint64_t>& portion) {
  std::uint64_t word = portion.load(std::memory_order_relaxed);
  while (next_of(word) < end_of(word)) {
    const std::uint64_t closed = word_of(number_of(word), end_of(word), end_of(word));
    if (portion.compare_exchange_weak(word, closed, std::memory_order_relaxed)) break;
  }
  return next_of(word);
}

}  // namespace

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(std::max(1, num_threads)),
      oversubscribed_(num_threads_ > usable_cpus()),
      portions_(to_size(num_threads_)),
      wanted_width_(num_threads_),
      width_(num_threads_) {
  threads_.reserve(to_size(num_threads_ - 1));
  try {
    for (int worker = 1; worker < num_threads_; ++worker)  // exceptions of bodies are kept for the caller
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
  width_.store(num_threads_, std::memory_order_release);
  width_.notify_all();
  for (std::jthread& thread : threads_) thread.join();
}

void ThreadPool::set_width(int width) {
  wanted_width_.store(std::clamp(width, 1, num_threads_), std::memory_order_relaxed);
}

ThreadPool::Step::Step(ThreadPool& pool, StepClock* clock) : pool_(pool), saved_mxcsr_(set_ieee_rounding()) {
  pool_.begin_turn();
  pool_.clock_ = clock != nullptr && clock->is_running() ? clock : nullptr;
  pool_.last_region_ = {};
  pool_.spinning_.store(true, std::memory_order_relaxed);
}

ThreadPool::Step::~Step() {
  pool_.spinning_.store(false, std::memory_order_relaxed);
  pool_.clock_ = nullptr;
  pool_.end_turn();
  restore_rounding(saved_mxcsr_);
}

// This is no mutex: the thread that ends one step and begins the next one would take that again before the threads that
// wait for it.
void ThreadPool::begin_turn() {
  const std::uint32_t mine = next_turn_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t turn = turn_.load(std::memory_order_acquire); turn != mine;
       turn = turn_.load(std::memory_order_acquire))
    turn_.wait(turn, std::memory_order_acquire);
  turn_began_ = StepClock::Clock::now();
  const int width = wanted_width_.load(std::memory_order_relaxed), before = width_.load(std::memory_order_relaxed);
  if (width == before) return;
  width_.store(width, std::memory_order_release);
  if (width > before) width_.notify_all();
}

ThreadPool::Pauses::Pauses(ThreadPool& pool, const std::function<bool()>& is_unwanted, const Rules& rules)
    : pool_(pool), is_unwanted_(is_unwanted), rules_(rules), left_(to_size(pool.num_threads())) {
  pool_.pauses_ = this;
}

ThreadPool::Pauses::~Pauses() {
  pool_.pauses_ = nullptr;
  pool_.is_pausing_.store(false, std::memory_order_relaxed);
}

/// Whether a pause is due. It never is before a piece was done, so that the step advances however many others wait.
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
    pauses.left_[w] = {portions_[w].next_piece, portions_[w].end_piece};
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
    portions_[w].next_piece = static_cast<std::uint32_t>(pauses.left_[w].next_piece);
    portions_[w].end_piece = static_cast<std::uint32_t>(pauses.left_[w].end_piece);
  }
  pauses.has_worked_ = false;
  pauses.waited_ += turn_began_ - begin;
  ++pauses.count_;
}

void ThreadPool::end_turn() {
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
}

/// Runs a region, as several regions where its pieces are more than a portion's word can count.
void ThreadPool::run(Region region) {
  const std::size_t num_items = region.num_items;
  for (std::size_t end = 0; end < num_items; region.first_item = end) {
    end = std::min(num_items, region.first_item + kMostPieces * region.grain);
    region.num_items = end - region.first_item;
    share_out((region.num_items + region.grain - 1) / region.grain);
    run_pieces(region);
    while (is_pausing_.load(std::memory_order_relaxed)) {
      pause();
      run_pieces(region);
    }
  }
}

void ThreadPool::share_out(std::size_t num_pieces) {
  const std::size_t num_shares = to_size(width());
  std::uint32_t first = 0;
  for (std::size_t w = 0; w < portions_.size(); ++w) {
    portions_[w].next_piece = first;
    first = static_cast<std::uint32_t>(num_pieces * std::min(w + 1, num_shares) / num_shares);
    portions_[w].end_piece = first;
  }
}

/// Runs all pieces that are left, or as many as there are before a pause.
void ThreadPool::run_pieces(const Region& region) {
  region_ = region;
  follow_caller();
  work(0, publish());
  const auto begin = region.is_timed ? StepClock::Clock::now() : StepClock::Clock::time_point();
  if (wait_for_pieces()) last_region_ = {};
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

/// Publishes the pieces that are left as those of a new region, and gives its number.
std::uint32_t ThreadPool::publish() {
  const std::uint32_t number = epoch_.load(std::memory_order_relaxed) + 1;
  for (Portion& portion : portions_) {
    portion.num_done.store(0, std::memory_order_relaxed);
    portion.worked = {};
    // A thread that takes a piece of it sees all that was written before.
    portion.word.store(word_of(number, portion.end_piece, portion.next_piece), std::memory_order_release);
  }
  epoch_.store(number, std::memory_order_release);
  epoch_.notify_all();
  return number;
}

/// Notes whether the caller has lost its CPU. Then all CPUs have other threads to run, and a worker that offered its
/// CPU would get less than its part.
void ThreadPool::follow_caller() {
  const StepClock::Clock::time_point now = StepClock::Clock::now();
  if (last_region_ != StepClock::Clock::time_point() && now - last_region_ > kAway) disturbed_until_ = now + kDisturbed;
  last_region_ = now;
  is_caller_disturbed_.store(now < disturbed_until_, std::memory_order_relaxed);
}

/// Lets no further piece be taken, and waits until each piece that was taken is done. True: that took long.
bool ThreadPool::wait_for_pieces() {
  int spins = 0;
  for (Portion& portion : portions_) {
    const std::uint32_t first = std::exchange(portion.next_piece, close_portion(portion.word));
    const std::uint32_t num_taken = portion.next_piece - first;
    for (; portion.num_done.load(std::memory_order_acquire) != num_taken; ++spins) {
      if (oversubscribed_ || spins > kSpinsBeforeYield) {
        std::this_thread::yield();
      } else {
        pause_cpu();
      }
    }
  }
  return spins > kSpinsBeforeYield;
}

/// Takes pieces of the region as long as there are any. The region is read only after a piece was taken: it cannot end
/// before that piece is done, but it may have ended for a thread that takes none.
void ThreadPool::work(int worker, std::uint32_t number) noexcept {
  Region region;
  StepClock::Clock::time_point begin = {};
  for (std::size_t i = 0; i < portions_.size(); ++i) {
    Portion& portion = portions_[(to_size(worker) + i) % portions_.size()];
    std::uint32_t num_done = 0;
    while (goes_on(worker)) {
      const std::optional<std::uint32_t> piece = take_piece(portion.word, number);
      if (!piece) break;
      if (region.call == nullptr) {
        region = region_;
        if (region.is_timed) begin = StepClock::Clock::now();
      }
      call_piece(region, *piece, worker);
      ++num_done;
    }
    if (num_done == 0) continue;
    if (region.is_timed) portions_[to_size(worker)].worked = StepClock::Clock::now() - begin;
    portion.num_done.fetch_add(num_done, std::memory_order_release);
  }
}

bool ThreadPool::goes_on(int worker) noexcept {
  try {
    return !must_pause(worker) && !has_failed_.load(std::memory_order_relaxed);
  } catch (...) {  // an exception of is_unwanted()
    keep_failure();
    return false;
  }
}

void ThreadPool::call_piece(const Region& region, std::size_t piece, int worker) noexcept {
  const std::size_t first = piece * region.grain, end = std::min(first + region.grain, region.num_items);
  try {
    region.call(region.body, region.first_item + first, region.first_item + end, worker);
  } catch (...) {
    keep_failure();
  }
}

/// Keeps the current exception; of several, the first one.
void ThreadPool::keep_failure() noexcept {
  if (!has_failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
}

std::uint32_t ThreadPool::wait_for_region(std::uint32_t seen) {
  static thread_local CpuTurn turn;
  if (!is_caller_disturbed_.load(std::memory_order_relaxed)) turn.offer_if_due();
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
    if (worker < width()) {
      work(worker, seen);
    } else {
      sleep_until_wide(worker);
    }
  }
}

void ThreadPool::sleep_until_wide(int worker) {
  for (int width = width_.load(std::memory_order_acquire); worker >= width;
       width = width_.load(std::memory_order_acquire))
    width_.wait(width, std::memory_order_acquire);
}

}  // namespace octavo
