// A lazily built deterministic automaton over sets of configurations whose stacks begin at one call: the part of a
// text's future that does not depend on what called.
//
// Used by one thread at a time. Ids hold until clear(); what they stand for and lead to depends on the automaton alone.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "constraint/configurations.h"

namespace octavo {

using LocalId = std::uint32_t;

class LocalStates {
 public:
  static constexpr LocalId kDead = 0;

  /// The automaton must outlive it.
  explicit LocalStates(const Automaton& automaton);

  /// Configurations whose stacks lie on `bottom`, the call.
  LocalId of_call(std::span<const Configuration> members, const CallStacks& stacks, StackId bottom);
  LocalId entering(StateId state);
  LocalId after(LocalId id, std::uint8_t byte) {
    const LocalId known = transitions_[id * num_classes_ + automaton_.class_of(byte)];
    return known != kUnknown ? known : find_after(id, byte);
  }

  /// Marks the bytes that an edge of one of its states begins at, or that follow an edge: all bytes up to the next mark
  /// lead to one state.
  using Edges = std::bitset<257>;
  void mark_edges(LocalId id, Edges& edges) const;

  /// The call may return here.
  bool is_complete(LocalId id) const { return states_[id].is_complete; }
  /// Its set, or one that led to it, had too many configurations.
  bool is_too_large(LocalId id) const { return states_[id].is_too_large; }
  std::size_t num_configurations(LocalId id) const { return states_[id].end - states_[id].begin; }

  std::size_t num_bytes() const { return num_bytes_; }
  void clear();

 private:
  static constexpr LocalId kUnknown = 0xFFFFFFFF;
  static constexpr std::size_t kFewSlots = 256;
  struct State {
    std::size_t begin = 0, end = 0;  // of its configurations
    std::size_t hash = 0;
    bool is_complete = false, is_too_large = false;
  };

  LocalId find_after(LocalId id, std::uint8_t byte);
  LocalId of_set(const ConfigurationSet& set);
  void grow_slots();
  StackId copied(StackId stack, const CallStacks& stacks, StackId bottom);
  std::span<const Configuration> members(LocalId id) const {
    return std::span(configurations_).subspan(states_[id].begin, num_configurations(id));
  }

  const Automaton& automaton_;
  const std::size_t num_classes_;
  CallStacks stacks_;
  ConfigurationStepper stepper_;
  ConfigurationSet reached_;
  std::vector<State> states_;
  std::vector<Configuration> configurations_;  // of all
  std::vector<LocalId> transitions_;           // [states, classes]
  std::vector<LocalId> slots_;                 // a power of two, by hash; kDead: none
  std::size_t num_bytes_ = 0;
};

}  // namespace octavo
