#include "engine/schedule/preemption.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

Preemption::Preemption(KvCacheManager& kv, SequenceQueues& queues, BlockBudget& block_budget, SchedulerCounts& counts)
    : kv_(kv), queues_(queues), block_budget_(block_budget), counts_(counts), missing_(to_size(kv.num_pools())) {}

bool Preemption::make_room(const Sequence& sequence, std::span<const int> needed) {
  if (block_budget_.has_room_for(needed)) return true;
  return preempt_tails(sequence, needed, false) || preempt_wholly(sequence, needed, false);
}

bool Preemption::make_room_to_admit(const Sequence& sequence, std::span<const int> needed) {
  if (block_budget_.has_room_for(needed)) return true;
  if (could_make_room(sequence, needed) && preempt_tails(sequence, needed, true)) return true;
  return queues_.running().empty() && preempt_wholly(sequence, needed, true);
}

bool Preemption::preempt_tails(const Sequence& sequence, std::span<const int> needed, bool admits) {
  const Sequence* before = nullptr;
  while (Sequence* victim = victim_for(sequence, admits, before)) {
    before = victim;
    preempt_tail(*victim, needed);
    if (block_budget_.has_room_for(needed)) return true;
  }
  return false;
}

bool Preemption::preempt_wholly(const Sequence& sequence, std::span<const int> needed, bool admits) {
  while (Sequence* victim = victim_for(sequence, admits, nullptr)) {
    preempt_all(*victim);
    if (block_budget_.has_room_for(needed)) return true;
  }
  return false;
}

/// Whether the blocks that its victims hold alone, and those promised to them, would be enough.
bool Preemption::could_make_room(const Sequence& sequence, std::span<const int> needed) {
  count_missing(needed);
  const Sequence* victim = nullptr;
  while ((victim = victim_for(sequence, true, victim)) != nullptr) {
    const bool is_promised = victim->is_running() && victim->is_catching_up();
    for (int group = 0; group < block_budget_.num_groups(); ++group) {
      missing_[to_size(group)] -= block_budget_.held_alone(*victim, group);
      if (is_promised) missing_[to_size(group)] -= block_budget_.to_promise(*victim, group);
    }
  }
  return !is_any_missing();
}

void Preemption::count_missing(std::span<const int> needed) {
  for (int group = 0; group < block_budget_.num_groups(); ++group)
    missing_[to_size(group)] = needed[to_size(group)] - block_budget_.room(group);
}

bool Preemption::is_any_missing() const {
  return std::ranges::any_of(missing_, [](int blocks) { return blocks > 0; });
}

/// The sequence of worst rank that may have to give way to `sequence`, or the next one with a better rank than
/// `before`; null if there is none.
Sequence* Preemption::victim_for(const Sequence& sequence, bool admits, const Sequence* before) const {
  const auto may_give = [&](const Sequence& other) {
    if (other.notes.rank <= sequence.notes.rank || queues_.has_rows(other)) return false;
    if (before != nullptr && other.notes.rank >= before->notes.rank) return false;
    if (!other.is_running()) return other.num_computed > 0;
    return !admits || other.params.priority < sequence.params.priority ||
           other.notes.counts_of_owner != sequence.notes.counts_of_owner;
  };
  const auto worst = [&](std::span<Sequence* const> sequences) -> Sequence* {
    for (auto it = sequences.rbegin(); it != sequences.rend() && (*it)->notes.rank > sequence.notes.rank; ++it)
      if (may_give(**it)) return *it;
    return nullptr;
  };
  Sequence* running = worst(queues_.running());
  Sequence* holding = queues_.anybody_holds() ? worst(queues_.waiting()) : nullptr;
  if (running == nullptr || holding == nullptr) return running != nullptr ? running : holding;
  return running->notes.rank > holding->notes.rank ? running : holding;
}

void Preemption::suspend(Sequence& sequence) {
  if (std::exchange(sequence.notes.joint_end, 0) > 0) {  // nothing of its joint pass stays
    const Result<void> cut = kv_.truncate(sequence.kv, sequence.num_computed);
    OCTAVO_CHECK(cut.has_value(), "sequence {}: {}", sequence.params.id, cut.error().message);
  }
  queues_.suspend(sequence);
  ++sequence.num_preemptions;
  ++counts_.preemptions;
  block_budget_.count_promises(queues_.running());
}

/// Lets the victim give up the fewest tail blocks that make room, or as many as help. It runs on where none help.
void Preemption::preempt_tail(Sequence& victim, std::span<const int> needed) {
  if (victim.is_running() && victim.is_catching_up()) {
    suspend(victim);
    if (block_budget_.has_room_for(needed)) return;  // only its promise was in the way
  }
  count_missing(needed);
  const int kept = cut_tail(victim);
  if (kept < 0) return;
  if (victim.is_running()) suspend(victim);
  const int held = held_alone(victim);
  const std::int64_t end = kv_.longest_cut(victim.kv, std::int64_t{kept} * kv_.block_size());
  if (kv_.can_truncate(victim.kv, end)) {
    const Result<void> truncated = kv_.truncate(victim.kv, end);
    OCTAVO_CHECK(truncated.has_value(), "{}", truncated.error().message);
    queues_.keep_computed(victim, std::min(victim.num_computed, static_cast<int>(end)));
  } else {
    release_blocks(victim);  // a window has given back what a shorter sequence would look at
  }
  counts_.preempted_blocks += static_cast<std::uint64_t>(held - held_alone(victim));
}

/// How many blocks of all groups only the sequence holds.
int Preemption::held_alone(const Sequence& sequence) const {
  int blocks = 0;
  for (int group = 0; group < block_budget_.num_groups(); ++group) blocks += block_budget_.held_alone(sequence, group);
  return blocks;
}

/// How many leading blocks a victim keeps so that `missing_` blocks become free, or as many as possible; -1 where none
/// would.
int Preemption::cut_tail(const Sequence& victim) {
  const int all = block_budget_.blocks_for(victim.num_computed);
  int kept = -1;
  for (int block = all - 1; block >= 0 && is_any_missing(); --block) {
    for (int group = 0; group < block_budget_.num_groups(); ++group) {
      const std::optional<BlockId> held = kv_.table(victim.kv, group).get(block);
      if (!held || kv_.pool(group).references(*held) != 1) continue;
      --missing_[to_size(group)];
      kept = block;
    }
  }
  return kept;
}

void Preemption::preempt_all(Sequence& victim) {
  counts_.preempted_blocks += static_cast<std::uint64_t>(held_alone(victim));
  if (victim.is_running()) suspend(victim);
  release_blocks(victim);
}

/// Lets the victim give up all its blocks. It begins anew later, with what it then finds cached.
void Preemption::release_blocks(Sequence& victim) {
  const Result<void> truncated = kv_.truncate(victim.kv, 0);
  OCTAVO_CHECK(truncated.has_value(), "{}", truncated.error().message);
  queues_.keep_computed(victim, 0);
}

}  // namespace octavo
