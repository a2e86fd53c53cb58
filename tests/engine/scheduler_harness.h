// A scheduler over integers alone, for tests of what it decides.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/schedule/scheduler.h"
#include "support/state_room.h"

namespace octavo::test {

/// Steps cost 1 ms, and 1 ms a row.
inline CostModel make_cost() {
  CostModel cost({});
  for (int i = 0; i < 50; ++i)
    for (const int rows : {1, 4, 16, 64, 200}) cost.observe(cost.work(0, rows, 0), 1.0 + rows);
  return cost;
}

struct Cache {
  int num_blocks = 16;
  int block_size = 4;
  std::vector<int> windows = {0};
  bool prefix_cache = false;
  int num_snapshots = 4;         // where a window is kRecurrent
  std::size_t state_bytes = 64;  // there; a block of one group has 32
};

inline std::unique_ptr<KvCacheManager> make_cache(const Cache& cache) {
  return tiny_manager(cache.windows, cache.block_size, cache.num_blocks, cache.prefix_cache, cache.num_snapshots,
                      cache.state_bytes);
}

// A scheduler over integers alone: a step "computes" by accept() and, for a sequence that is up to date, by appending
// a token. Ids count from 1.
class Harness {
 public:
  Harness(const Scheduler::Limits& limits, const Cache& cache, const CostModel* cost = nullptr)
      : kv_(make_cache(cache)), scheduler_(limits, *kv_, cost) {}

  /// Prompts are all different, unless they are given the same first token. The names of the owner and of the flow must
  /// last.
  Sequence& add(int prompt_tokens, int generated_tokens, int first_token = -1, int priority = 0,
                std::string_view owner = {}, int num_forks = 0, std::string_view flow = {}) {
    auto sequence = std::make_unique<Sequence>();
    sequence->params.id = next_id_++;
    sequence->tokens.reserve(static_cast<std::size_t>(prompt_tokens + generated_tokens));
    sequence->tokens.assign(static_cast<std::size_t>(prompt_tokens), 0);
    sequence->tokens[0] = first_token >= 0 ? first_token : 1000 + static_cast<TokenId>(sequence->params.id);
    sequence->params.prompt_tokens = prompt_tokens;
    sequence->params.priority = priority;
    sequence->params.owner = owner;
    sequence->params.flow = flow;
    sequence->num_forks = num_forks;
    sequence->pending.prompt_logits_from = prompt_tokens;
    sequence->params.max_cached = prompt_tokens + generated_tokens - 1;
    sequence->kv = kv_->create_sequence(sequence->params.max_cached);
    sequence->hash_blocks(kv_->hashing());
    scheduler_.add(*sequence);
    return *sequences_.emplace(sequence->params.id, std::move(sequence)).first->second;
  }

  /// The rows of the next step.
  std::vector<ScheduledSequence> schedule(int num_engines = 1) {
    scheduler_.schedule(plan_, num_engines);
    return plan_.sequences;
  }
  void complete(std::span<const ScheduledSequence> plan) {
    for (ScheduledSequence planned : plan) {
      scheduler_.accept(planned, planned.num_tokens - planned.num_drafted);
      if (planned.num_drafted > 0) scheduler_.take_back(planned);  // none was right
      planned.sequence->draft.clear();
    }
    for (const ScheduledSequence& planned : plan) {
      Sequence& sequence = *planned.sequence;
      if (sequence.num_uncomputed() != 0) continue;
      if (sequence.num_tokens() == sequence.params.max_cached) {
        remove(sequence);
      } else {
        sequence.tokens.push_back(0);
      }
    }
  }
  /// Runs a step; gives (id, number of tokens) in the plan's order.
  std::vector<std::pair<RequestId, int>> step(int num_engines = 1) {
    const std::vector<ScheduledSequence> plan = schedule(num_engines);
    std::vector<std::pair<RequestId, int>> rows;
    for (const ScheduledSequence& planned : plan) rows.emplace_back(planned.sequence->params.id, planned.num_tokens);
    complete(plan);
    return rows;
  }

  void remove(Sequence& sequence) {
    scheduler_.remove(sequence);
    EXPECT_TRUE(kv_->drop_sequence(sequence.kv));
    sequences_.erase(sequence.params.id);
  }

  bool intact() const {
    for (const auto& [id, sequence] : sequences_) {
      if (sequence->num_computed != kv_->sequence_length(sequence->kv)) return false;
    }
    return kv_->check_integrity().has_value() && scheduler_.check_integrity().has_value();
  }
  static bool is_running(const Sequence& sequence) { return sequence.state == Sequence::State::kRunning; }
  int num_blocks(const Sequence& sequence) const { return kv_->table(sequence.kv, 0).num_blocks(); }

  Scheduler& scheduler() { return scheduler_; }
  /// The plan of the last step that was scheduled.
  const StepPlan& plan() const { return plan_; }
  KvCacheManager& kv() { return *kv_; }
  const BlockPool& pool() const { return kv_->pool(0); }
  const auto& sequences() const { return sequences_; }

 private:
  std::unique_ptr<KvCacheManager> kv_;
  std::map<RequestId, std::unique_ptr<Sequence>> sequences_;
  Scheduler scheduler_;
  StepPlan plan_ = scheduler_.make_plan();
  RequestId next_id_ = 1;
};

}  // namespace octavo::test
