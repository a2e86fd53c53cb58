// Who may do what to an engine, and when: threads, the inbox, deadlines, statistics.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/engine_impl.h"

namespace octavo {
namespace {

using Clock = Choice::Clock;

// How old the statistics may be that another thread sees while steps are computed.
constexpr auto kStatsAge = std::chrono::milliseconds(20);

}  // namespace

class EngineImpl::Driving {
 public:
  explicit Driving(EngineImpl& engine) : engine_(engine), lock_(engine.drive_mutex_) { begin(); }
  Driving(EngineImpl& engine, std::try_to_lock_t tried) : engine_(engine), lock_(engine.drive_mutex_, tried) {
    if (lock_) begin();
  }
  ~Driving() {
    if (lock_) end();
  }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
  explicit operator bool() const { return lock_.owns_lock(); }

 private:
  void begin() { engine_.driver_ = std::this_thread::get_id(); }
  void end() {
#ifdef OCTAVO_INTEGRITY_CHECKS
    const Result<void> intact = engine_.check_integrity();
    OCTAVO_CHECK(intact.has_value(), "{}", intact.error().message);
#endif
    engine_.clear_retired();
    engine_.publish_stats();
    engine_.driver_ = std::thread::id();
  }

  EngineImpl& engine_;
  std::unique_lock<std::mutex> lock_;
};

// Says that the inbox will be looked at again: from before its thread waits for the lock until after it lets go.
class EngineImpl::Listening {
 public:
  explicit Listening(EngineImpl& engine) : count_(engine.num_listening_) { ++count_; }
  ~Listening() { --count_; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  std::atomic<int>& count_;
};

bool EngineImpl::step() {
  if (is_driving()) return false;  // a callback
  const Listening listening(*this);
  const Driving driving(*this);
  return advance();
}

void EngineImpl::run_until(std::stop_token stop) {
  if (is_driving()) return;  // a callback
  is_looping_ = true;
  IdleRelease idle(parts_.idle);
  while (!stop.stop_requested()) {
    if (step()) {
      idle.restart();
      continue;
    }
    if (is_drained()) break;
    const IdleRelease::Due due = idle.due(Clock::now());
    if (due != IdleRelease::Due::kNothing) release_memory(due == IdleRelease::Due::kAll);
    inbox_.wait(stop, idle.next());
  }
  is_looping_ = false;
}

void EngineImpl::release_memory(bool cached) {
  if (is_driving()) return;  // a callback: the step's blocks may be among the free ones already
  const Driving driving(*this);
  kv().release_memory(cached);
}

void EngineImpl::drain() { inbox_.close(); }

// Under the lock: a request that was taken in at once, and not through the inbox, is seen.
bool EngineImpl::is_drained() {
  const Driving driving(*this);
  return inbox_.is_drained() && scheduler_.empty();
}

void EngineImpl::cancel(RequestId id) {
  if (id == 0 || id >= next_id_) return;  // nobody's yet
  if (is_driving()) {
    ActiveRequest* request = find(id);
    if (request != nullptr) return end_request(*request, FinishReason::kCancelled);
    return inbox_.put_cancel(id);  // it may lie there
  }
  inbox_.put_cancel(id);
  while (inbox_.has_cancels()) {
    if (hear_inbox()) continue;
    if (num_listening_ > 0) return;  // a step, after which the next one hears it, or a cancel(), which looks again
    std::this_thread::yield();       // the lock is held for a moment: statistics, or a request handed over
  }
}

/// False where another thread drives the engine.
bool EngineImpl::hear_inbox() {
  const Listening listening(*this);
  const Driving driving(*this, std::try_to_lock);
  if (!driving) return false;
  take_inbox();
  inbox_.wake();  // requests taken out of it are not ended by this: run_until() must not sleep on
  return true;
}

/// True if there was something.
bool EngineImpl::take_inbox() {
  inbox_.take(taken_);
  if (taken_.empty()) return false;
  for (std::unique_ptr<ActiveRequest>& request : taken_.requests) {
    if (take_in(request)) continue;
    request->place.leave();
    emit_unbegun(*request, FinishReason::kFailed);
  }
  taken_.requests.clear();
  for (std::size_t i = 0; i < taken_.cancels.size(); ++i)
    if (ActiveRequest* request = find(taken_.cancels[i])) end_request(*request, FinishReason::kCancelled);
  taken_.cancels.clear();
  return true;
}

/// True if a deadline had passed.
bool EngineImpl::end_expired(Clock::time_point now) {
  bool any = false;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const RequestId id = deadlines_.begin()->second;
    ActiveRequest* request = find(id);
    OCTAVO_CHECK(request != nullptr, "a deadline of request {}", id);
    end_request(*request, FinishReason::kDeadline);
    any = true;
  }
  return any;
}

// The time from one step's tokens to the next one's belongs to those that had rows in it, but for what passed between
// the two calls.
void EngineImpl::attribute_time(std::span<const ScheduledSequence> plan, Clock::time_point start) {
  const Clock::time_point now = Clock::now();
  const Clock::duration idle = start - last_end_;
  for (const auto& [sequence, num_tokens, chunk] : plan) {
    ActiveRequest* request = find(sequence->id);
    if (request == nullptr) continue;  // cancelled by a callback of this step
    const bool is_prompt = sequence == &request->prompt;
    ChoiceTimes& times = is_prompt ? request->times : request->choices[to_size(sequence->choice)]->times;
    const Clock::time_point begin = std::max(last_mark_ + idle, request->submitted);
    if (!times.first_step) times.first_step = begin;
    (chunk.size() > 0 ? times.in_prefill : times.in_decode) += now - begin;
  }
  for (const Draw& draw : draws_)  // those that began in this step share the past of their prompt
    if (draw.choice != nullptr && !draw.choice->times.first_step) draw.choice->times = draw.request->times;
  last_mark_ = now;
}

/// Also of prompts without rows in this step: others may have computed some of their tokens.
void EngineImpl::tell_progress() {
  for (std::size_t i = 0; i < scheduler_.running().size(); ++i) {  // a callback may cancel
    Sequence& sequence = *scheduler_.running()[i];
    const int computed = std::min(sequence.num_computed, sequence.prompt_tokens);
    if (sequence.progress_told == sequence.prompt_tokens || sequence.progress_told == computed) continue;
    sequence.progress_told = computed;
    const ActiveRequest& request = *find(sequence.id);
    const auto& first_step = request.times.first_step;
    request.on_prompt_progress({.prompt_tokens = sequence.prompt_tokens,
                                .cached_tokens = sequence.cached_tokens,
                                .computed_tokens = computed,
                                .seconds = first_step ? seconds(last_mark_ - *first_step) : 0});
  }
}

void EngineImpl::observe_step(Clock::time_point start, double predicted_ms) {
  ++counts_.steps;
  if (parts_.limits.step_ms <= 0) return;
  const double real = seconds(Clock::now() - start), predicted = predicted_ms / 1000;
  cost_.observe(scheduler_.work(), real * 1000);
  counts_.step_s += real;
  counts_.predicted_step_s += predicted;
  counts_.step_error_s += std::abs(real - predicted);
  counts_.last_step_s = real;
  counts_.last_predicted_step_s = predicted;
}

void EngineImpl::publish_stats() {
  const Clock::time_point now = Clock::now();
  if (!scheduler_.empty() && now - last_stats_time_ < kStatsAge) return;
  const std::lock_guard lock(stats_mutex_);
  last_stats_ = current_stats();
  last_stats_time_ = now;
}

EngineStats EngineImpl::current_stats() const {
  EngineStats stats = counts_;
  stats.kv = kv().stats();
  stats.waiting = scheduler_.num_waiting();
  stats.running = scheduler_.num_running();
  stats.computed_tokens = scheduler_.num_computed_tokens();
  stats.prompt_tokens = scheduler_.num_prompt_tokens();
  stats.cached_tokens = scheduler_.num_cached_tokens();
  stats.kv.hits = stats.cached_tokens;
  stats.kv.misses = scheduler_.num_looked_for_tokens() - stats.cached_tokens;
  stats.preemptions = scheduler_.num_preemptions();
  stats.preempted_blocks = scheduler_.num_preempted_blocks();
  return stats;
}

EngineStats EngineImpl::stats() const {
  if (is_driving()) return current_stats();
  if (const std::unique_lock lock(drive_mutex_, std::try_to_lock); lock) return current_stats();
  const std::lock_guard lock(stats_mutex_);
  return last_stats_;
}

}  // namespace octavo
