// Who begins, or goes on after a preemption.
#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/scheduler.h"

namespace octavo {

void Scheduler::admit() {
  while (!waiting_.empty()) {
    Sequence& sequence = *waiting_.front();
    if (!could_have_seats(sequence) || !start(sequence)) return;
    waiting_.erase(waiting_.begin());  // those that made room have worse rank
    insert_by_rank(running_, sequence);
  }
}

/// There are seats enough, or others would stand up. A new one waits all the same where as many are set aside as there
/// are seats: they keep memory, and whoever has many owners' names cannot begin any number of answers.
bool Scheduler::could_have_seats(const Sequence& sequence) const {
  if (!sequence.was_admitted && !running_.empty() && seats_begun_ + sequence.seats() > 2 * limits_.max_sequences)
    return false;
  int seats = limits_.max_sequences - seats_taken_;
  const Sequence* victim = nullptr;
  while (seats < sequence.seats() && (victim = seat_victim(sequence, victim)) != nullptr) seats += victim->seats();
  return seats >= sequence.seats();
}

/// Sets sequences aside until there are seats enough; false where that cannot be.
bool Scheduler::take_seats(const Sequence& sequence) {
  while (seats_taken_ + sequence.seats() > limits_.max_sequences) {
    Sequence* victim = seat_victim(sequence, nullptr);
    if (victim == nullptr) return false;
    set_aside(*victim);
  }
  return true;
}

/// The running sequence with the worst rank that has to stand up for one that waits, or the next one with a better rank
/// than `before`; null if there is none. A sequence that has rows in this step already is none.
Sequence* Scheduler::seat_victim(const Sequence& sequence, const Sequence* before) const {
  for (auto it = running_.rbegin(); it != running_.rend() && (*it)->rank > sequence.rank; ++it) {
    const bool considered = before != nullptr && (*it)->rank >= before->rank;
    if (!considered && (*it)->share != sequence.share && (*it)->planned_in_step != step_) return *it;
  }
  return nullptr;
}

// A new sequence attaches first and counts then: a cached block that is found lessens what is needed, and what is free
// with it. One that goes on has blocks to lose, and attaches to more once there is room for it: what it lost may still
// be cached, and would make way for the blocks that it takes.
bool Scheduler::start(Sequence& sequence) {
  if (failed_before(sequence)) return false;
  const bool is_holding = sequence.num_computed > 0;
  const int attached = is_holding ? 0 : extend_prefix(sequence);
  if (attached > 0) count_promises();  // blocks of others may be shared now
  if (!has_room_to_start(sequence) || !take_seats(sequence)) {
    if (attached > 0) {
      let_go(sequence);
      count_promises();
    }
    failed_ = &sequence;
    failed_publications_ = publications_;
    for (int group = 0; group < kv_.num_groups(); ++group) failed_room_[to_size(group)] = room(group);
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
    if (room(group) > failed_room_[to_size(group)]) return false;
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
    needed_[to_size(group)] = std::min(promised_to(sequence, group) + spare, most);
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
    seats_begun_ += sequence.seats();
    newly_admitted_.push_back(&sequence);
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
