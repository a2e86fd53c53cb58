#include "engine/drive/statistics.h"

namespace octavo {

EngineStats Statistics::current() const {
  EngineStats stats = counts_;
  stats.kv = kv_.stats();
  stats.waiting = scheduler_.num_waiting();
  stats.running = scheduler_.num_running();
  stats.computed_tokens = scheduler_.num_computed_tokens();
  stats.prompt_tokens = scheduler_.num_prompt_tokens();
  stats.cached_tokens = scheduler_.num_cached_tokens();
  stats.diverged_prompts = scheduler_.num_diverged_prompts();
  stats.kv.hits = stats.cached_tokens;
  stats.kv.misses = scheduler_.num_lookup_tokens() - stats.cached_tokens;
  stats.pinned_bytes = scheduler_.pins().bytes();
  stats.preemptions = scheduler_.num_preemptions();
  stats.preempted_blocks = scheduler_.num_preempted_blocks();
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
