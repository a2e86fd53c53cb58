// The counts of an engine, past and present: made by its parts, asked for by any thread.
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
  /// The scheduler and the cache must outlive this.
  Statistics(const Scheduler& scheduler, const KvCacheManager& kv) : scheduler_(scheduler), kv_(kv) {}

  /// Counters that the step and the answers write: steps and their times, tokens generated, choices ended.
  EngineStats& counts() { return counts_; }
  /// The counts, and what the scheduler and the cache tell of themselves.
  EngineStats current() const;

  /// Copies them for other threads; at most every 20 ms while there is work.
  void copy_stats();
  /// The figures as they were last copied.
  EngineStats copied() const {
    const std::lock_guard lock(mutex_);
    return copied_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kMaxAge = std::chrono::milliseconds(20);

  const Scheduler& scheduler_;
  const KvCacheManager& kv_;
  EngineStats counts_;
  Clock::time_point time_copied_;
  mutable std::mutex mutex_;  // of the copy
  EngineStats copied_;
};

}  // namespace octavo
