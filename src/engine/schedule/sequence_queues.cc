#include "engine/schedule/sequence_queues.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

void insert_by_rank(std::vector<Sequence*>& sequences, Sequence& sequence) {
  sequences.insert(std::ranges::upper_bound(sequences, sequence.notes.rank, {}, &Sequence::rank), &sequence);
}

void sort_by_rank(std::vector<Sequence*>& sequences) {
  if (!std::ranges::is_sorted(sequences, {}, &Sequence::rank)) std::ranges::sort(sequences, {}, &Sequence::rank);
}

void erase(std::vector<Sequence*>& sequences, const Sequence& sequence) {
  const std::size_t erased = std::erase(sequences, &sequence);
  OCTAVO_CHECK(erased == 1, "sequence {}", sequence.params.id);
}

}  // namespace

SequenceQueues::SequenceQueues(int max_sequences) : max_sequences_(max_sequences) {
  running_.reserve(to_size(max_sequences));
}

// A running sequence may be suspended within a step, so the list of waiting ones has room for all.
void SequenceQueues::reserve_for(const Sequence& sequence) {
  const auto all = to_size(choices_of_all_ + sequence.num_choices());
  if (waiting_.capacity() < all) waiting_.reserve(2 * all);
}

void SequenceQueues::add(Sequence& sequence) {
  choices_of_all_ += sequence.num_choices();
  sequence.state = Sequence::State::kWaiting;
  insert_by_rank(waiting_, sequence);
}

void SequenceQueues::remove(Sequence& sequence) {
  const bool is_running = sequence.is_running();
  erase(is_running ? running_ : waiting_, sequence);
  if (is_running) {
    choices_running_ -= sequence.num_choices();
  } else if (sequence.num_computed > 0) {
    --num_holding_;
  }
  if (sequence.notes.was_admitted) choices_admitted_ -= sequence.num_choices();
  choices_of_all_ -= sequence.num_choices();
  sequence.state = Sequence::State::kIdle;
}

void SequenceQueues::start_first(bool was_holding) {
  Sequence& sequence = *waiting_.front();
  waiting_.erase(waiting_.begin());
  if (was_holding) --num_holding_;
  if (!sequence.notes.was_admitted) choices_admitted_ += sequence.num_choices();
  sequence.notes.was_admitted = true;
  choices_running_ += sequence.num_choices();
  sequence.state = Sequence::State::kRunning;
  insert_by_rank(running_, sequence);
}

void SequenceQueues::suspend(Sequence& sequence) {
  erase(running_, sequence);
  choices_running_ -= sequence.num_choices();
  if (sequence.num_computed > 0) ++num_holding_;
  sequence.state = Sequence::State::kWaiting;
  insert_by_rank(waiting_, sequence);
}

void SequenceQueues::add_child(Sequence& child) {
  child.notes.was_admitted = true;
  child.state = Sequence::State::kRunning;
  insert_by_rank(running_, child);
}

void SequenceQueues::replace(Sequence& parent, Sequence& child) {
  erase(running_, parent);
  parent.state = Sequence::State::kIdle;
  add_child(child);
}

void SequenceQueues::keep_computed(Sequence& sequence, int num_tokens) {
  if (num_tokens == 0 && sequence.num_computed > 0) --num_holding_;
  sequence.num_computed = num_tokens;
}

void SequenceQueues::sort() {
  sort_by_rank(running_);
  sort_by_rank(waiting_);
}

Result<void> SequenceQueues::check_integrity() const {
  int taken = 0, of_waiting = 0, suspended = 0, holding = 0;
  for (const Sequence* sequence : running_) taken += sequence->num_choices();
  for (const Sequence* sequence : waiting_) {
    of_waiting += sequence->num_choices();
    suspended += sequence->notes.was_admitted ? sequence->num_choices() : 0;
    holding += sequence->num_computed > 0 ? 1 : 0;
  }
  if (taken != choices_running_ || taken + of_waiting != choices_of_all_ || taken > max_sequences_) {
    return fail("scheduler: found {} choices that run of {} and {} in all, it counts {} and {}", taken, max_sequences_,
                taken + of_waiting, choices_running_, choices_of_all_);
  }
  if (taken + suspended != choices_admitted_ || holding != num_holding_) {
    return fail("scheduler: found {} choices admitted and {} sequences that wait with blocks, it counts {} and {}",
                taken + suspended, holding, choices_admitted_, num_holding_);
  }
  if (!std::ranges::is_sorted(running_, {}, &Sequence::rank) || !std::ranges::is_sorted(waiting_, {}, &Sequence::rank))
    return fail("scheduler: sequences are not in order of rank");
  return {};
}

}  // namespace octavo
