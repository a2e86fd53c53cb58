#include "engine/schedule/owner_ranks.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "base/to_size.h"

namespace octavo {

void OwnerRanks::add(Sequence& sequence, std::size_t num_choices) {
  if (sequences_.capacity() < num_choices) sequences_.reserve(2 * num_choices);
  if (by_flows_.capacity() < num_choices) by_flows_.reserve(2 * num_choices);
  auto owner = owners_.find(sequence.params.owner);
  if (owner == owners_.end()) owner = owners_.try_emplace(std::string(sequence.params.owner)).first;
  try {
    sequence.notes.counts_of_flow = &flow_of(owner->second, sequence.params.flow);
  } catch (const std::bad_alloc&) {
    if (owner->second.counts.num_sequences == 0) owners_.erase(owner);
    throw;
  }
  sequence.notes.counts_of_owner = &owner->second.counts;
  insert(sequence);
}

OwnerCounts& OwnerRanks::flow_of(Owner& owner, std::string_view name) {
  if (name.empty()) return owner.unnamed;
  const auto found = owner.flows.find(name);
  return found != owner.flows.end() ? found->second : owner.flows[std::string(name)];
}

void OwnerRanks::add_fork(const Sequence& parent, Sequence& child) {
  child.notes.counts_of_owner = parent.notes.counts_of_owner;
  child.notes.counts_of_flow = parent.notes.counts_of_flow;
  insert(child);
  child.notes.flow_arrival = parent.notes.flow_arrival;
  const std::int64_t behind = std::int64_t{kStepsPerChoice} * (parent.notes.choices_ranked - parent.num_choices());
  child.notes.rank = {.virtual_arrival = parent.notes.rank.virtual_arrival + behind,
                      .id = child.params.id,
                      .choice = child.params.choice};
  child.notes.is_ranked = true;
}

void OwnerRanks::insert(Sequence& sequence) {
  ++sequence.notes.counts_of_owner->num_sequences;
  ++sequence.notes.counts_of_flow->num_sequences;
  if (!sequence.params.flow.empty()) ++num_in_flows_;
  sequence.notes.rank = sequence.notes.own_rank;
  sequence.notes.choices_ranked = sequence.num_choices();
  sequence.notes.is_ranked = false;
  sequence.notes.flow_arrival.reset();
  sequences_.insert(std::ranges::upper_bound(sequences_, sequence.notes.own_rank, {}, &Sequence::own_rank), &sequence);
  changed_ = true;
}

void OwnerRanks::remove(Sequence& sequence) {
  changed_ = true;
  const auto found = std::ranges::lower_bound(sequences_, sequence.notes.own_rank, {}, &Sequence::own_rank);
  OCTAVO_CHECK(found != sequences_.end() && *found == &sequence, "sequence {}", sequence.params.id);
  sequences_.erase(found);
  const auto owner = owners_.find(sequence.params.owner);
  const bool has_flow = !sequence.params.flow.empty();
  if (--sequence.notes.counts_of_flow->num_sequences == 0 && has_flow)
    owner->second.flows.erase(owner->second.flows.find(sequence.params.flow));
  if (has_flow) --num_in_flows_;
  if (--owner->second.counts.num_sequences == 0) owners_.erase(owner);
  sequence.notes.counts_of_owner = sequence.notes.counts_of_flow = nullptr;
}

void OwnerRanks::begin_count(OwnerCounts& counts) {
  counts.choices_before = 0;
  counts.last_arrival = std::numeric_limits<std::int64_t>::min();
}

/// The sequences in the order in which they count: within an owner by its flows, each of which goes by own ranks.
const std::vector<Sequence*>& OwnerRanks::in_order(std::int64_t step) {
  if (num_in_flows_ == 0) return sequences_;
  for (auto& [name, owner] : owners_) {
    begin_count(owner.unnamed);
    for (auto& [flow, counts] : owner.flows) begin_count(counts);
  }
  for (Sequence* sequence : sequences_) {
    OwnerCounts& counts = *sequence->notes.counts_of_flow;
    const std::int64_t arrival = arrival_after(*sequence, counts, sequence->notes.flow_arrival, step);
    counts.last_arrival = std::max(arrival, counts.last_arrival + 1);
    sequence->notes.flow_arrival = counts.last_arrival;
    counts.choices_before += sequence->num_choices();
  }
  by_flows_.assign(sequences_.begin(), sequences_.end());
  std::ranges::sort(by_flows_, {}, [](const Sequence* sequence) {
    return std::pair(sequence->notes.flow_arrival.value_or(0), sequence->own_rank());
  });
  return by_flows_;
}

bool OwnerRanks::update_ranks(std::int64_t step) {
  if (!std::exchange(changed_, false)) return false;
  for (auto& [name, owner] : owners_) begin_count(owner.counts);
  for (Sequence* sequence : in_order(step)) {
    OwnerCounts& counts = *sequence->notes.counts_of_owner;
    // Within an owner this order decides, whichever sequence came to its present place first.
    const auto before = sequence->notes.is_ranked ? std::optional(sequence->notes.rank.virtual_arrival) : std::nullopt;
    const std::int64_t arrival = std::max(arrival_after(*sequence, counts, before, step), counts.last_arrival + 1);
    sequence->notes.rank.virtual_arrival = counts.last_arrival = arrival;
    sequence->notes.is_ranked = true;
    sequence->notes.choices_ranked = sequence->num_choices();
    counts.choices_before += sequence->num_choices();
  }
  return true;
}

/// The virtual arrival of a sequence after the choices that are counted so far. `before`: the one that it had, if it
/// had one; so it keeps when the sequence came to its place.
std::int64_t OwnerRanks::arrival_after(const Sequence& sequence, const OwnerCounts& counts,
                                       std::optional<std::int64_t> before, std::int64_t step) {
  const std::int64_t behind = std::int64_t{kStepsPerChoice} * counts.choices_before;
  if (!before) return sequence.notes.own_rank.virtual_arrival + behind;
  const std::int64_t head_start = std::int64_t{sequence.params.priority} * kStepsPerPriority;
  return std::min(*before, step - head_start + behind);
}

Result<void> OwnerRanks::check_integrity(std::size_t num_sequences) const {
  if (sequences_.size() != num_sequences || !std::ranges::is_sorted(sequences_, {}, &Sequence::own_rank)) {
    return fail("owners: found {} sequences, expected {} in order of their own rank", sequences_.size(), num_sequences);
  }
  std::size_t counted = 0;
  for (const auto& [owner, of_owner] : owners_) {
    const OwnerCounts& counts = of_owner.counts;
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
