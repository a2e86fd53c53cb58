#include "engine/drive/statistics.h"

#include <algorithm>

namespace octavo {
namespace {

/// A prompt gets this share of a step's time however many answers there are.
constexpr double kLeastShare = 0.1;

}  // namespace

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
  stats.prompts = prompts();
  return stats;
}

PromptQueue Statistics::prompts() const {
  PromptQueue queue;
  for (const Sequence* sequence : scheduler_.waiting())
    if (sequence->num_uncomputed() > 0) queue.add(static_cast<std::uint64_t>(sequence->num_uncomputed()));
  for (const Sequence* sequence : scheduler_.running())
    if (sequence->num_behind() > 0) queue.add(static_cast<std::uint64_t>(sequence->num_behind()));
  queue.token_s = prompt_token_s();
  return queue;
}

/// The predicted seconds of a token in a long chunk, where the answers that run have their part of each step.
double Statistics::prompt_token_s() const {
  const CostModel* cost = scheduler_.cost();
  const StepLimits& limits = scheduler_.limits();
  if (cost == nullptr) return 0;
  const int chunk = std::max(1, limits.max_step_tokens);
  const double token_ms = cost->predict_ms(cost->work(0, chunk, 1)) / chunk;
  StepWork answers;
  for (const Sequence* sequence : scheduler_.running())
    if (!sequence->is_catching_up()) answers += cost->work(std::max(0, sequence->num_tokens() - 1), 1, 1);
  if (answers.rows == 0 || limits.step_ms <= 0) return token_ms / 1000;
  const double share = 1 - cost->predict_ms(answers) / limits.step_ms;
  return token_ms / std::max(kLeastShare, share) / 1000;
}

void Statistics::copy_stats() {
  const Clock::time_point now = Clock::now();
  if (!scheduler_.empty() && now - time_copied_ < kMaxAge) return;
  const std::lock_guard lock(mutex_);
  copied_ = current();
  time_copied_ = now;
}

}  // namespace octavo
