#include "constraint/masks/local_states.h"

#include <algorithm>

namespace octavo {
namespace {

std::size_t hash_of(const ConfigurationSet& set, bool is_last) {
  std::uint64_t hash = (set.is_complete ? 1 : 2) + (is_last ? 2 : 0);
  for (const auto& [state, stack] : set.members)
    hash = (hash ^ (std::uint64_t{state} << 32 | stack)) * 0x9E3779B97F4A7C15 + (hash >> 29);
  return hash ^ hash >> 32;  // its low bits are an index of a table
}

}  // namespace

LocalStates::LocalStates(const Automaton& automaton, Kept kept)
    : automaton_(automaton), kept_(kept), num_classes_(automaton.num_classes()), stepper_(automaton, stacks_) {
  clear();
}

void LocalStates::clear() {
  stacks_ = {};
  states_ = std::vector<State>(1);  // the state kDead
  configurations_ = {};
  transitions_ = std::vector<LocalId>(num_classes_, kDead);
  slots_ = std::vector<LocalId>(kFewSlots, kDead);
  num_bytes_ = 0;
}

LocalId LocalStates::of_call(std::span<const Configuration> members, const CallStacks& stacks, StackId bottom) {
  ConfigurationSet set;
  set.members.reserve(members.size());
  for (const auto& [state, stack] : members) set.members.push_back({state, copied(stack, stacks, bottom)});
  std::ranges::sort(set.members);
  return of_set(set, bottom == CallStacks::kBottom);
}

void LocalStates::begin_count() {
  if (++round_ != 0) return;
  for (State& state : states_) state.round = 0;
  round_ = 1;
}

/// Copies the calls above `bottom` to this object's stacks.
StackId LocalStates::copied(StackId stack, const CallStacks& stacks, StackId bottom) {
  if (stack == bottom) return CallStacks::kBottom;
  return stacks_.push(copied(stacks.below(stack), stacks, bottom), stacks.return_of(stack));
}

LocalId LocalStates::entering(StateId state, bool is_last) {
  reached_ = stepper_.enter(state);
  return of_set(reached_, is_last);
}

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

/// Finds the state after a byte. Bytes around it between which no edge of the members begins or ends lead to the same
/// state.
LocalId LocalStates::find_after(LocalId id, std::uint8_t byte) {
  std::uint8_t low = 0, high = 0xFF;
  for (const Configuration& member : members(id)) {
    const Automaton::State& state = automaton_.at(member.state);
    if (state.kind != Automaton::Kind::kBytes) continue;
    for (const Automaton::Edge& edge : automaton_.edges(state)) {
      if (edge.high < byte) {
        low = std::max<std::uint8_t>(low, edge.high + 1);
      } else if (edge.low > byte) {
        high = std::min<std::uint8_t>(high, edge.low - 1);
      } else {
        low = std::max(low, edge.low);
        high = std::min(high, edge.high);
      }
    }
  }
  stepper_.after_byte(members(id), byte, reached_);
  const LocalId found = of_set(reached_, states_[id].is_last);
  const auto row = transitions_.begin() + static_cast<std::ptrdiff_t>(id * num_classes_);
  std::fill(row + automaton_.class_of(low), row + automaton_.class_of(high) + 1, found);
  return found;
}

LocalId LocalStates::of_set(ConfigurationSet& set, bool is_last) {
  if (kept_ == Kept::kInLoops) {
    set.is_complete = false;
    std::erase_if(set.members, [this](const Configuration& member) {
      return !is_in_loop(automaton_, member, stacks_, CallStacks::kBottom);
    });
  }
  if (is_last) {
    if (!set.members.empty()) set.is_complete = false;  // where the call may end says nothing about what may follow
    automaton_.simulation().reduce(set.members, stacks_, CallStacks::kBottom);
  }
  if (set.is_dead() && !set.is_too_large) return kDead;
  const std::size_t hash = hash_of(set, is_last);
  std::size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != kDead; slot = (slot + 1) & (slots_.size() - 1)) {
    const State& state = states_[slots_[slot]];
    if (state.hash == hash && state.is_complete == set.is_complete && state.is_too_large == set.is_too_large &&
        state.is_last == is_last && std::ranges::equal(members(slots_[slot]), set.members))
      return slots_[slot];
  }
  const auto id = static_cast<LocalId>(states_.size());
  states_.push_back({.begin = configurations_.size(),
                     .end = configurations_.size() + set.members.size(),
                     .hash = hash,
                     .is_complete = set.is_complete,
                     .is_too_large = set.is_too_large,
                     .is_last = is_last});
  configurations_.insert(configurations_.end(), set.members.begin(), set.members.end());
  transitions_.resize(transitions_.size() + num_classes_, kUnknown);
  slots_[slot] = id;
  if (states_.size() * 2 > slots_.size()) grow_slots();
  num_bytes_ +=
      sizeof(State) + set.members.size() * sizeof(Configuration) + num_classes_ * sizeof(LocalId) + kBytesBeside;
  return id;
}

void LocalStates::grow_slots() {
  slots_.assign(slots_.size() * 2, kDead);
  for (LocalId id = kDead + 1; id < states_.size(); ++id) {
    std::size_t slot = states_[id].hash & (slots_.size() - 1);
    while (slots_[slot] != kDead) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = id;
  }
}

}  // namespace octavo
