#include "engine/drive/statistics.h"

namespace octavo {

EngineStats Statistics::current() const {
  EngineStats stats = counts_;
  stats.kv = kv_.stats();
  stats.waiting = scheduler_.num_waiting();
  stats.running = scheduler_.num_running();
  stats.computed_tokens = scheduler_.counts().computed_tokens;
  stats.prompt_tokens = scheduler_.counts().prompt_tokens;
  stats.cached_tokens = scheduler_.counts().cached_tokens;
  stats.diverged_prompts = scheduler_.counts().diverged_prompts;
  stats.kv.hits = stats.cached_tokens;
  stats.kv.misses = scheduler_.counts().lookup_tokens - stats.cached_tokens;
  stats.pinned_bytes = scheduler_.pins().bytes();
  stats.preemptions = scheduler_.counts().preemptions;
  stats.preempted_blocks = scheduler_.counts().preempted_blocks;
  return stats;
}

void Statistics::copy_stats() {
  const Clock::time_point now = Clock::now();
  if (!scheduler_.empty() && now - time_copied_ < kMaxAge) return;
  const std::lock_guard lock(mutex_);
  copied_ = current();
  time_copied_ = now;
}

}  // namespace octavo
