#include "engine/owner_shares.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/to_size.h"

namespace octavo {

void OwnerShares::add(Sequence& sequence, std::size_t seats) {
  if (sequences_.capacity() < seats) sequences_.reserve(2 * seats);
  const auto found = shares_.find(sequence.owner);
  sequence.share = found != shares_.end() ? &found->second : &shares_[std::string(sequence.owner)];
  insert(sequence);
}

void OwnerShares::add_fork(const Sequence& parent, Sequence& child) {
  child.share = parent.share;
  insert(child);
  const std::int64_t behind = std::int64_t{kStepsPerSeat} * child.choice;
  child.rank = {.virtual_arrival = parent.rank.virtual_arrival + behind, .id = child.id, .choice = child.choice};
  child.is_ranked = true;
}

void OwnerShares::insert(Sequence& sequence) {
  ++sequence.share->num_sequences;
  sequence.rank = sequence.own_rank;
  sequence.is_ranked = false;
  sequences_.insert(std::ranges::upper_bound(sequences_, sequence.own_rank, {}, &Sequence::own_rank), &sequence);
  changed_ = true;
}

void OwnerShares::remove(Sequence& sequence) {
  changed_ = true;
  const auto found = std::ranges::lower_bound(sequences_, sequence.own_rank, {}, &Sequence::own_rank);
  OCTAVO_CHECK(found != sequences_.end() && *found == &sequence, "sequence {}", sequence.id);
  sequences_.erase(found);
  if (--sequence.share->num_sequences == 0) shares_.erase(shares_.find(sequence.owner));
  sequence.share = nullptr;
}

bool OwnerShares::update_ranks(std::int64_t step) {
  if (!std::exchange(changed_, false)) return false;
  for (auto& [owner, share] : shares_) {
    share.seats_before = 0;
    share.last_arrival = std::numeric_limits<std::int64_t>::min();
  }
  for (Sequence* sequence : sequences_) {
    OwnerShare& share = *sequence->share;
    // Own ranks decide within an owner, whatever came first to the place that it has now.
    const std::int64_t arrival = std::max(virtual_arrival(*sequence, step), share.last_arrival + 1);
    sequence->rank.virtual_arrival = share.last_arrival = arrival;
    sequence->is_ranked = true;
    share.seats_before += sequence->seats();
  }
  return true;
}

/// Behind the seats of its owner that are counted so far. It has come to this place now, if not before.
std::int64_t OwnerShares::virtual_arrival(const Sequence& sequence, std::int64_t step) {
  const std::int64_t behind = std::int64_t{kStepsPerSeat} * sequence.share->seats_before;
  if (!sequence.is_ranked) return sequence.own_rank.virtual_arrival + behind;
  const std::int64_t head_start = std::int64_t{sequence.priority} * kStepsPerPriority;
  return std::min(sequence.rank.virtual_arrival, step - head_start + behind);
}

Result<void> OwnerShares::check_integrity(std::size_t num_sequences) const {
  if (sequences_.size() != num_sequences || !std::ranges::is_sorted(sequences_, {}, &Sequence::own_rank)) {
    return fail("owners: found {} sequences, expected {} in order of their own rank", sequences_.size(), num_sequences);
  }
  std::size_t counted = 0;
  for (const auto& [owner, share] : shares_) {
    const auto is_of_owner = [&](const Sequence* s) { return s->share == &share && s->owner == owner; };
    const auto found = std::ranges::count_if(sequences_, is_of_owner);
    if (found != share.num_sequences || found == 0)
      return fail("owners: found {} sequences of '{}', it counts {}", found, owner, share.num_sequences);
    counted += to_size(found);
  }
  if (counted != num_sequences) return fail("owners: {} of {} sequences have one", counted, num_sequences);
  return {};
}

}  // namespace octavo
