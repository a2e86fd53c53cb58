// Who begins, or goes on after a preemption.
#include <algorithm>

#include "base/error.h"
#include "engine/scheduler.h"

namespace octavo {

void Scheduler::admit() {
  while (!waiting_.empty()) {
    Sequence& sequence = *waiting_.front();
    if (seats_taken_ + sequence.seats() > limits_.max_sequences || !start(sequence)) return;
    waiting_.erase(waiting_.begin());
    insert_by_rank(running_, sequence);
  }
}

// A new sequence attaches first and counts then: a cached block that is found lessens what is needed, and what is free
// with it. One that goes on has blocks to lose, and attaches to more once there is room for it: what it lost may still
// be cached, and would make way for the blocks that it takes.
bool Scheduler::start(Sequence& sequence) {
  if (failed_before(sequence)) return false;
  const bool is_holding = sequence.num_computed > 0;
  const int attached = is_holding ? 0 : extend_prefix(sequence);
  if (attached > 0) count_promises();  // blocks of others may be shared now
  if (!has_room_to_start(sequence)) {
    if (attached > 0) {
      let_go(sequence);
      count_promises();
    }
    failed_ = &sequence;
    failed_publications_ = publications_;
    for (int group = 0; group < kv_.num_groups(); ++group) failed_room_[static_cast<std::size_t>(group)] = room(group);
    return false;
  }
  if (is_holding) --num_holding_;
  if (is_holding && extend_prefix(sequence) > 0) count_promises();
  begin_prefill(sequence);
  return true;
}

/// Nothing that could help has changed since it last found no room. Those that must give way to it grow in every step.
bool Scheduler::failed_before(const Sequence& sequence) const {
  if (failed_ != &sequence || failed_publications_ != publications_ || running_.empty() || is_urgent()) return false;
  for (int group = 0; group < kv_.num_groups(); ++group)
    if (room(group) > failed_room_[static_cast<std::size_t>(group)]) return false;
  return true;
}

/// There is room for all that it has not computed and for it to grow, or others make it.
bool Scheduler::has_room_to_start(const Sequence& sequence) {
  const bool grows = blocks_for(sequence.max_cached) > blocks_for(sequence.num_tokens());
  // Each choice will write into a block of its own.
  const int spare = sequence.num_forks > 0 ? sequence.seats() : grows ? 1 : 0;
  for (int group = 0; group < kv_.num_groups(); ++group) {
    const BlockTable& table = kv_.table(sequence.kv, group);
    const int most = kv_.pool(group).total_count() - (table.num_blocks() - table.first_held());
    needed_[static_cast<std::size_t>(group)] = std::min(promised_to(sequence, group) + spare, most);
  }
  return make_room(sequence, true);
}

void Scheduler::begin_prefill(Sequence& sequence) {
  Result<PrefillScheduler> prefill = PrefillScheduler::create(sequence.tokens, prefill_config_);
  OCTAVO_CHECK(prefill.has_value(), "{}", prefill.error().message);
  sequence.prefill = *prefill;
  const Result<void> skipped = sequence.prefill->skip_to(sequence.num_computed);
  OCTAVO_CHECK(skipped.has_value(), "{}", skipped.error().message);
  count_cached(sequence);
  if (!sequence.was_admitted) {
    num_prompt_tokens_ += static_cast<std::uint64_t>(sequence.prompt_tokens);
    const int most = (sequence.prompt_tokens - 1) / kv_.block_size() * kv_.block_size();
    if (sequence.may_use_cache() && kv_.hasher()) num_looked_for_tokens_ += static_cast<std::uint64_t>(most);
    --num_queued_;
  }
  sequence.was_admitted = true;
  sequence.steps_waited = 0;
  sequence.state = Sequence::State::kRunning;
  seats_taken_ += sequence.seats();
  add_promises(sequence, 1);
}

/// Counts what it has attached to of its prompt, but for what it has had itself before a preemption.
void Scheduler::count_cached(Sequence& sequence) {
  const int found = std::max(0, std::min(sequence.num_computed, sequence.prompt_tokens) - sequence.furthest);
  sequence.cached_tokens += found;
  num_cached_tokens_ += static_cast<std::uint64_t>(found);
  sequence.furthest = std::max(sequence.furthest, sequence.num_computed);
}

/// Attaches to what others have computed of its tokens, behind what it holds; the number found, which counts as
/// computed.
int Scheduler::extend_prefix(Sequence& sequence) {
  sequence.publications_seen = publications_;
  if (!sequence.may_use_cache()) return 0;
  const KvResult<int> attached = kv_.extend_prefix(sequence.kv, sequence.tokens, sequence.chain);
  OCTAVO_CHECK(attached.has_value(), "{}", describe(attached.error()));
  sequence.num_computed += *attached;
  return *attached;
}

}  // namespace octavo
