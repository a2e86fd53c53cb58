#include "kv/sequence_table.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"

namespace octavo {

bool SequenceState::is_empty() const {
  return std::ranges::all_of(groups, [](const GroupState& state) { return state.table.num_blocks() == 0; });
}

bool SequenceState::is_all_published(int block_size) const {
  return std::ranges::all_of(groups, [&](const GroupState& state) {
    return to_size(state.table.num_blocks()) == chain.size() &&
           state.length == static_cast<std::int64_t>(chain.size()) * block_size;
  });
}

void SequenceState::reserve(std::size_t entries, int block_size, bool publishes) {
  for (GroupState& state : groups) {
    state.table.reserve_ids(static_cast<std::int64_t>(entries) * block_size);
    state.visible.reserve(entries);
  }
  if (publishes) chain.reserve(entries);
}

void SequenceState::clear() {
  for (GroupState& state : groups) {
    state.table.truncate(0);
    state.visible.clear();
    state.length = 0;
  }
  state_slot.truncate(0);
  owner = 0;
  is_hidden = false;
  root = {};
  chain.clear();
}

void SpareSequences::keep(Node node) {
  const std::size_t entries = room(node);
  if (nodes_.size() == kMost || entries > kMostEntries - num_entries_) return;
  num_entries_ += entries;
  nodes_.push_back(std::move(node));
}

SpareSequences::Node SpareSequences::take(std::size_t entries) {
  const auto found = std::ranges::find(nodes_, room_for(entries), room);
  if (found == nodes_.end()) return {};
  std::swap(*found, nodes_.back());
  Node node = std::move(nodes_.back());
  nodes_.pop_back();
  num_entries_ -= room(node);
  return node;
}

SequenceState* SequenceTable::find(SequenceId id) {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

const SequenceState* SequenceTable::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

bool SequenceTable::drop(SequenceId id) {
  SpareSequences::Node node = sequences_.extract(id);
  if (!node) return false;
  node.mapped().clear();
  spares_.keep(std::move(node));
  return true;
}

}  // namespace octavo
