#include "constraint/local_states.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

std::size_t hash_of(const ConfigurationSet& set) {
  std::uint64_t hash = set.is_complete ? 1 : 2;
  for (const auto& [state, stack] : set.members)
    hash = (hash ^ (std::uint64_t{state} << 32 | stack)) * 0x9E3779B97F4A7C15 + (hash >> 29);
  return hash;
}

}  // namespace

LocalStates::LocalStates(const Automaton& automaton)
    : automaton_(automaton), num_classes_(automaton.num_classes()), stepper_(automaton, stacks_) {
  clear();
}

void LocalStates::clear() {
  stacks_.clear();
  states_.assign(1, {});  // kDead
  configurations_.clear();
  transitions_.assign(num_classes_, kDead);
  ids_.clear();
  num_bytes_ = 0;
}

LocalId LocalStates::of_states(std::span<const StateId> states) {
  ConfigurationSet set;
  for (const StateId state : states) set.members.push_back({state, CallStacks::kBottom});
  return of_set(set);
}

LocalId LocalStates::entering(StateId state) { return of_set(stepper_.enter(state)); }

void LocalStates::mark_edges(LocalId id, Edges& edges) const {
  edges.reset();
  for (const Configuration& member : members(id)) {
    const Automaton::State& state = automaton_.at(member.state);
    if (state.kind != Automaton::Kind::kBytes) continue;
    for (const Automaton::Edge& edge : automaton_.edges(state)) {
      edges.set(edge.low);
      edges.set(edge.high + std::size_t{1});
    }
  }
}

LocalId LocalStates::find_after(LocalId id, std::uint8_t byte) {
  const LocalId found = of_set(stepper_.after_byte(members(id), byte));
  transitions_[id * num_classes_ + automaton_.class_of(byte)] = found;
  return found;
}

LocalId LocalStates::of_set(const ConfigurationSet& set) {
  if (set.is_dead() && !set.is_too_large) return kDead;
  const std::size_t hash = hash_of(set);
  const auto [begin, end] = ids_.equal_range(hash);
  const auto known = std::find_if(begin, end, [&](const auto& entry) {
    const State& state = states_[entry.second];
    return state.is_complete == set.is_complete && state.is_too_large == set.is_too_large &&
           std::ranges::equal(members(entry.second), set.members);
  });
  if (known != end) return known->second;
  const auto id = static_cast<LocalId>(states_.size());
  states_.push_back({.begin = configurations_.size(),
                     .end = configurations_.size() + set.members.size(),
                     .is_complete = set.is_complete,
                     .is_too_large = set.is_too_large});
  configurations_.insert(configurations_.end(), set.members.begin(), set.members.end());
  transitions_.resize(transitions_.size() + num_classes_, kUnknown);
  ids_.emplace(hash, id);
  num_bytes_ += sizeof(State) + set.members.size() * sizeof(Configuration) + num_classes_ * sizeof(LocalId) + 64;
  return id;
}

}  // namespace octavo
