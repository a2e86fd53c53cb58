#include "engine/schedule/owner_ranks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/to_size.h"

namespace octavo {

void OwnerRanks::add(Sequence& sequence, std::size_t num_choices) {
  if (sequences_.capacity() < num_choices) sequences_.reserve(2 * num_choices);
  const auto found = owners_.find(sequence.params.owner);
  sequence.notes.counts_of_owner =
      found != owners_.end() ? &found->second : &owners_[std::string(sequence.params.owner)];
  insert(sequence);
}

void OwnerRanks::add_fork(const Sequence& parent, Sequence& child) {
  child.notes.counts_of_owner = parent.notes.counts_of_owner;
  insert(child);
  const std::int64_t behind = std::int64_t{kStepsPerChoice} * (parent.notes.choices_ranked - parent.num_choices());
  child.notes.rank = {.virtual_arrival = parent.notes.rank.virtual_arrival + behind,
                      .id = child.params.id,
                      .choice = child.params.choice};
  child.notes.is_ranked = true;
}

void OwnerRanks::insert(Sequence& sequence) {
  ++sequence.notes.counts_of_owner->num_sequences;
  sequence.notes.rank = sequence.notes.own_rank;
  sequence.notes.choices_ranked = sequence.num_choices();
  sequence.notes.is_ranked = false;
  sequences_.insert(std::ranges::upper_bound(sequences_, sequence.notes.own_rank, {}, &Sequence::own_rank), &sequence);
  changed_ = true;
}

void OwnerRanks::remove(Sequence& sequence) {
  changed_ = true;
  const auto found = std::ranges::lower_bound(sequences_, sequence.notes.own_rank, {}, &Sequence::own_rank);
  OCTAVO_CHECK(found != sequences_.end() && *found == &sequence, "sequence {}", sequence.params.id);
  sequences_.erase(found);
  if (--sequence.notes.counts_of_owner->num_sequences == 0) owners_.erase(owners_.find(sequence.params.owner));
  sequence.notes.counts_of_owner = nullptr;
}

bool OwnerRanks::update_ranks(std::int64_t step) {
  if (!std::exchange(changed_, false)) return false;
  for (auto& [owner, counts] : owners_) {
    counts.choices_before = 0;
    counts.last_arrival = std::numeric_limits<std::int64_t>::min();
  }
  for (Sequence* sequence : sequences_) {
    OwnerCounts& counts = *sequence->notes.counts_of_owner;
    // Within an owner, own ranks decide, whichever sequence came to its present place first.
    const std::int64_t arrival = std::max(virtual_arrival(*sequence, step), counts.last_arrival + 1);
    sequence->notes.rank.virtual_arrival = counts.last_arrival = arrival;
    sequence->notes.is_ranked = true;
    sequence->notes.choices_ranked = sequence->num_choices();
    counts.choices_before += sequence->num_choices();
  }
  return true;
}

/// The virtual arrival of a sequence after the choices of its owner that are counted so far. It notes when the sequence
/// came to this place.
std::int64_t OwnerRanks::virtual_arrival(const Sequence& sequence, std::int64_t step) {
  const std::int64_t behind = std::int64_t{kStepsPerChoice} * sequence.notes.counts_of_owner->choices_before;
  if (!sequence.notes.is_ranked) return sequence.notes.own_rank.virtual_arrival + behind;
  const std::int64_t head_start = std::int64_t{sequence.params.priority} * kStepsPerPriority;
  return std::min(sequence.notes.rank.virtual_arrival, step - head_start + behind);
}

Result<void> OwnerRanks::check_integrity(std::size_t num_sequences) const {
  if (sequences_.size() != num_sequences || !std::ranges::is_sorted(sequences_, {}, &Sequence::own_rank)) {
    return fail("owners: found {} sequences, expected {} in order of their own rank", sequences_.size(), num_sequences);
  }
  std::size_t counted = 0;
  for (const auto& [owner, counts] : owners_) {
    const auto is_of_owner = [&](const Sequence* s) {
      return s->notes.counts_of_owner == &counts && s->params.owner == owner;
    };
    const auto found = std::ranges::count_if(sequences_, is_of_owner);
    if (found != counts.num_sequences || found == 0)
      return fail("owners: found {} sequences of '{}', it counts {}", found, owner, counts.num_sequences);
    counted += to_size(found);
  }
  if (counted != num_sequences) return fail("owners: {} of {} sequences have one", counted, num_sequences);
  return {};
}

}  // namespace octavo
