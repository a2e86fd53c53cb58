// Who gives memory back so that a better rank can go on, and how much.
#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/scheduler.h"

namespace octavo {
namespace {

std::size_t at(int index) { return to_size(index); }

bool is_running(const Sequence& sequence) { return sequence.state == Sequence::State::kRunning; }

}  // namespace

/// Makes `needed_` blocks free and promised to nobody, or gives false. Others with worse rank give up the blocks that
/// nobody else holds, worst first, no more than is needed. If that is not enough for a running sequence that must grow,
/// they give up everything: what several of them share becomes free when the last one goes. For an admission only those
/// give way that wait as well, have a lower priority or another owner, and only if it is then admitted; where nothing
/// runs they give up everything, too.
bool Scheduler::make_room(const Sequence& sequence, bool admits) {
  if (has_room()) return true;
  if (!admits || could_make_room(sequence)) {
    const Sequence* before = nullptr;
    while (Sequence* victim = victim_for(sequence, admits, before)) {
      before = victim;
      give_tail(*victim);
      if (has_room()) return true;
    }
  }
  if (admits && !running_.empty()) return false;
  while (Sequence* victim = victim_for(sequence, admits, nullptr)) {
    give_all(*victim);
    if (has_room()) return true;
  }
  return false;
}

/// The blocks that its victims hold alone, and those that are promised to them, are enough.
bool Scheduler::could_make_room(const Sequence& sequence) {
  for (int group = 0; group < kv_.num_groups(); ++group) missing_[at(group)] = needed_[at(group)] - room(group);
  const Sequence* victim = nullptr;
  while ((victim = victim_for(sequence, true, victim)) != nullptr) {
    const bool promised = is_running(*victim) && victim->in_prefill();
    for (int group = 0; group < kv_.num_groups(); ++group) {
      missing_[at(group)] -= num_held_alone(kv_.table(victim->kv, group), kv_.pool(group));
      if (promised) missing_[at(group)] -= promised_to(*victim, group);
    }
  }
  return std::ranges::all_of(missing_, [](int blocks) { return blocks <= 0; });
}

/// The sequence with the worst rank that may have to give way to `sequence`, or the next one with a better rank than
/// `before`; null if there is none. A sequence that has rows in this step already is none.
Sequence* Scheduler::victim_for(const Sequence& sequence, bool admits, const Sequence* before) const {
  const auto may_give = [&](const Sequence& other) {
    if (other.rank <= sequence.rank || other.planned_in_step == step_) return false;
    if (before != nullptr && other.rank >= before->rank) return false;
    if (!is_running(other)) return other.num_computed > 0;
    return !admits || other.priority < sequence.priority || other.share != sequence.share;
  };
  const auto worst = [&](const std::vector<Sequence*>& sequences) -> Sequence* {
    for (auto it = sequences.rbegin(); it != sequences.rend() && (*it)->rank > sequence.rank; ++it)
      if (may_give(**it)) return *it;
    return nullptr;
  };
  Sequence* running = worst(running_);
  Sequence* holding = num_holding_ > 0 ? worst(waiting_) : nullptr;
  if (running == nullptr || holding == nullptr) return running != nullptr ? running : holding;
  return running->rank > holding->rank ? running : holding;
}

/// It runs no more, and waits with all that it holds.
void Scheduler::set_aside(Sequence& victim) {
  const std::size_t erased = std::erase(running_, &victim);
  OCTAVO_CHECK(erased == 1, "sequence {}", victim.id);
  seats_taken_ -= victim.seats();
  victim.prefill.reset();
  victim.state = Sequence::State::kWaiting;
  insert_by_rank(waiting_, victim);
  if (victim.num_computed > 0) ++num_holding_;
  ++victim.num_preemptions;
  ++num_preemptions_;
  count_promises();
}

/// Gives up the fewest tail blocks that make room, or as many as are of use. It runs on where that is nothing.
void Scheduler::give_tail(Sequence& victim) {
  if (is_running(victim) && victim.in_prefill()) {
    set_aside(victim);
    if (has_room()) return;  // its promise was all that was in the way
  }
  for (int group = 0; group < kv_.num_groups(); ++group) missing_[at(group)] = needed_[at(group)] - room(group);
  int kept = blocks_for(victim.num_computed), freed = 0;
  const auto enough = [&] { return std::ranges::all_of(missing_, [](int blocks) { return blocks <= 0; }); };
  for (int block = kept - 1; block >= 0 && !enough(); --block) {
    for (int group = 0; group < kv_.num_groups(); ++group) {
      const std::optional<BlockId> held = kv_.table(victim.kv, group).get(block);
      if (!held || kv_.pool(group).references(*held) != 1) continue;
      --missing_[at(group)];
      ++freed;
      kept = block;
    }
  }
  if (freed == 0) return;
  if (is_running(victim)) set_aside(victim);
  num_preempted_blocks_ += static_cast<std::uint64_t>(freed);
  const KvResult<void> cut = kv_.truncate(victim.kv, std::int64_t{kept} * kv_.block_size());
  if (!cut) let_go(victim);  // a window has given back what the shorter sequence would look at
  victim.num_computed = std::min(victim.num_computed, kept * kv_.block_size());
  if (victim.num_computed == 0) --num_holding_;
}

void Scheduler::give_all(Sequence& victim) {
  for (int group = 0; group < kv_.num_groups(); ++group)
    num_preempted_blocks_ += static_cast<std::uint64_t>(num_held_alone(kv_.table(victim.kv, group), kv_.pool(group)));
  if (is_running(victim)) set_aside(victim);
  if (victim.num_computed > 0) --num_holding_;
  let_go(victim);
}

/// Nothing of it is in the cache any more, other than as cached blocks.
void Scheduler::let_go(Sequence& sequence) {
  const KvResult<void> truncated = kv_.truncate(sequence.kv, 0);
  OCTAVO_CHECK(truncated.has_value(), "{}", describe(truncated.error()));
  sequence.num_computed = 0;
}

}  // namespace octavo
