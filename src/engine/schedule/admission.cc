#include "engine/schedule/admission.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

Admission::Admission(const Parts& parts) : parts_(parts), needed_(to_size(parts.block_budget.num_groups())) {
  last_failure_.room.resize(needed_.size());
}

void Admission::admit(std::vector<Sequence*>& newly_admitted) {
  while (!parts_.queues.waiting().empty()) {
    Sequence& sequence = *parts_.queues.waiting().front();
    if (!could_run(sequence) || !try_start(sequence, newly_admitted)) return;
  }
}

bool Admission::is_urgent() const {
  if (parts_.queues.waiting().empty()) return false;
  const Sequence& best = *parts_.queues.waiting().front();
  return std::ranges::any_of(parts_.queues.running(), [&](const Sequence* running) {
    return running->params.priority < best.params.priority ||
           (running->notes.counts_of_owner != best.notes.counts_of_owner && running->notes.rank > best.notes.rank);
  });
}

void Admission::forget(const Sequence& sequence) {
  if (last_failure_.sequence == &sequence) last_failure_.sequence = nullptr;
}

/// Whether there are places for the sequence's choices, or would be once others are suspended. A new sequence waits
/// even so where as many are suspended as may run: these keep memory, and a client under many owners' names could
/// otherwise begin any number of answers.
bool Admission::could_run(const Sequence& sequence) const {
  const SequenceQueues& queues = parts_.queues;
  const bool is_new = !sequence.notes.was_admitted && !queues.running().empty();
  if (is_new && queues.choices_admitted() + sequence.num_choices() > 2 * queues.max_sequences()) return false;
  int places = queues.num_free();
  const Sequence* victim = nullptr;
  while (places < sequence.num_choices() && (victim = victim_to_run(sequence, victim)) != nullptr)
    places += victim->num_choices();
  return places >= sequence.num_choices();
}

/// Suspends sequences until there are enough places; false where that cannot be.
bool Admission::make_room_to_run(const Sequence& sequence) {
  while (parts_.queues.num_free() < sequence.num_choices()) {
    Sequence* victim = victim_to_run(sequence, nullptr);
    if (victim == nullptr) return false;
    parts_.preemption.suspend(*victim);
  }
  return true;
}

/// The running sequence of worst rank that must give its places to a waiting one, or the next one with a better rank
/// than `before`; null if there is none. Sequences with rows in this step are never victims.
Sequence* Admission::victim_to_run(const Sequence& sequence, const Sequence* before) const {
  const std::span<Sequence* const> running = parts_.queues.running();
  for (auto it = running.rbegin(); it != running.rend() && (*it)->notes.rank > sequence.notes.rank; ++it) {
    const bool considered = before != nullptr && (*it)->notes.rank >= before->notes.rank;
    const bool is_of_another = (*it)->notes.counts_of_owner != sequence.notes.counts_of_owner;
    if (!considered && is_of_another && !parts_.queues.has_rows(**it)) return *it;
  }
  return nullptr;
}

// A new sequence attaches first and is counted then: cached blocks that it finds reduce both what it needs and what is
// free. One that goes on has blocks to lose, and attaches to more once there is room for it: what it lost may still be
// cached, and would be evicted for the blocks that it takes.
bool Admission::try_start(Sequence& sequence, std::vector<Sequence*>& newly_admitted) {
  if (failed_before(sequence)) return false;
  const auto count_promises = [&] { parts_.block_budget.count_promises(parts_.queues.running()); };
  const bool is_holding = sequence.num_computed > 0;
  const int attached = is_holding ? 0 : parts_.sharing.extend(sequence);
  if (attached > 0) count_promises();  // it may share blocks of others now
  if (!has_room_to_start(sequence) || !make_room_to_run(sequence)) {
    if (attached > 0) give_back(sequence);
    remember_failure(sequence);
    return false;
  }
  if (is_read_first(sequence)) return true;
  if (is_holding && parts_.sharing.extend(sequence) > 0) count_promises();
  start(sequence, is_holding, newly_admitted);
  return true;
}

/// Hands a sequence that has not run yet to the reads of prefixes, if a read pays: once, and where there is room for
/// all of it.
bool Admission::is_read_first(Sequence& sequence) {
  if (reads_ == nullptr || sequence.notes.was_admitted || std::exchange(sequence.notes.was_looked_for, true))
    return false;
  if (!reads_->wait_for_read(sequence)) return false;
  give_back(sequence);
  parts_.queues.remove(sequence);
  return true;
}

/// Takes back what a new sequence has attached to.
void Admission::give_back(Sequence& sequence) {
  const Result<void> truncated = parts_.kv.truncate(sequence.kv, 0);
  OCTAVO_CHECK(truncated.has_value(), "{}", truncated.error().message);
  sequence.num_computed = 0;
  parts_.block_budget.count_promises(parts_.queues.running());
}

bool Admission::has_room_to_start(const Sequence& sequence) {
  parts_.block_budget.count_to_start(sequence, needed_);
  return parts_.preemption.make_room_to_admit(sequence, needed_);
}

void Admission::start(Sequence& sequence, bool was_holding, std::vector<Sequence*>& newly_admitted) {
  parts_.sharing.count_cached(sequence);
  if (!sequence.notes.was_admitted) {
    parts_.sharing.count_lookup(sequence);
    parts_.sharing.find_divergence(sequence);
    newly_admitted.push_back(&sequence);
  }
  sequence.notes.num_admitted_tokens = sequence.num_tokens();
  sequence.notes.prefill_turns = {};
  sequence.notes.steps_waited = 0;
  parts_.queues.start_first(was_holding);  // the sequences that made room have worse rank
  parts_.block_budget.promise(sequence);
}

/// Whether nothing that could help has changed since the sequence last found no room. Victims grow in every step, which
/// makes no room.
bool Admission::failed_before(const Sequence& sequence) const {
  const Failure& failure = last_failure_;
  if (failure.sequence != &sequence || failure.num_publications != parts_.sharing.num_publications()) return false;
  if (parts_.queues.running().empty() || is_urgent()) return false;
  for (int group = 0; group < parts_.block_budget.num_groups(); ++group)
    if (parts_.block_budget.room(group) > failure.room[to_size(group)]) return false;
  return true;
}

void Admission::remember_failure(const Sequence& sequence) {
  last_failure_.sequence = &sequence;
  last_failure_.num_publications = parts_.sharing.num_publications();
  for (int group = 0; group < parts_.block_budget.num_groups(); ++group)
    last_failure_.room[to_size(group)] = parts_.block_budget.room(group);
}

}  // namespace octavo
