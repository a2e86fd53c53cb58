// The counts of an engine, past and present: its parts make them, any thread may ask for them.
//
// Owned by the engine. counts(), current() and copy_stats() belong to the thread that drives it; copied() to any.
#pragma once

#include <chrono>
#include <mutex>

#include "engine/schedule/scheduler.h"
#include "octavo/engine.h"

namespace octavo {

class Statistics {
 public:
  /// Both references must outlive this.
  Statistics(const Scheduler& scheduler, const KvCacheManager& kv) : scheduler_(scheduler), kv_(kv) {}

  /// Counters that the step and the answers increase: steps and their times, tokens generated, choices ended.
  EngineStats& counts() { return counts_; }
  /// The counts, with those that the scheduler and the cache keep themselves.
  EngineStats current() const;

  /// Copies the counts for other threads; at most every 20 ms while there is work.
  void copy_stats();
  /// The counts as they were last copied.
  EngineStats copied() const {
    const std::lock_guard lock(mutex_);
    return copied_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kMaxAge = std::chrono::milliseconds(20);

  PromptQueue prompts() const;
  double prompt_token_s() const;

  const Scheduler& scheduler_;
  const KvCacheManager& kv_;
  EngineStats counts_;
  Clock::time_point time_copied_;
  mutable std::mutex mutex_;  // guards the copy
  EngineStats copied_;
};

}  // namespace octavo
