// A lazily built deterministic automaton over sets of configurations whose stacks begin at one call: the part of a
// text's future that does not depend on the caller.
//
// One thread at a time uses it. Ids hold until clear(); the sets of ids and their edges depend on the automaton alone.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "constraint/automaton/configurations.h"

namespace octavo {

using LocalId = std::uint32_t;

class LocalStates {
 public:
  static constexpr LocalId kDead = 0;

  /// The configurations of a call that count.
  enum class Kept : std::uint8_t {
    kAll,
    kInLoops,  // small sets of loops, and of calls out of loops, that come again; ends of calls are left out
  };

  /// The automaton must outlive the states.
  explicit LocalStates(const Automaton& automaton, Kept kept = Kept::kAll);

  /// The state of configurations whose stacks lie on `bottom`, the call. On the bottom of `stacks` nothing follows the
  /// call: its end does not count, and members whose texts others begin as well are left out.
  LocalId of_call(std::span<const Configuration> members, const CallStacks& stacks, StackId bottom);
  /// The state of a call that is entered in `state`.
  LocalId entering(StateId state, bool is_last = false);
  LocalId after(LocalId id, std::uint8_t byte) {
    const LocalId known = transitions_[id * num_classes_ + automaton_.class_of(byte)];
    return known != kUnknown ? known : find_after(id, byte);
  }

  /// Marks the bytes that an edge of one of its states begins at, or that follow an edge: all bytes up to the next mark
  /// lead to one state.
  using Edges = std::bitset<257>;
  void mark_edges(LocalId id, Edges& edges) const;

  /// Whether the call may return here.
  bool is_complete(LocalId id) const { return states_[id].is_complete; }
  /// Whether the set, or one that led to it, had too many configurations.
  bool is_too_large(LocalId id) const { return states_[id].is_too_large; }
  std::size_t num_configurations(LocalId id) const { return states_[id].end - states_[id].begin; }
  std::span<const Configuration> members(LocalId id) const {
    return std::span(configurations_).subspan(states_[id].begin, num_configurations(id));
  }

  /// Begins a count, in which all states are new again.
  void begin_count();
  /// Whether the state is new since begin_count(); true once.
  bool is_new(LocalId id) { return std::exchange(states_[id].round, round_) != round_; }

  std::size_t num_bytes() const { return num_bytes_ + stacks_.size() * CallStacks::kBytesEach; }
  /// Forgets all states and gives the memory back.
  void clear();

 private:
  static constexpr LocalId kUnknown = 0xFFFFFFFF;
  static constexpr std::size_t kFewSlots = 256;
  static constexpr std::size_t kBytesBeside = 192;  // a state: its slots, and what is known of its runs
  struct State {
    std::size_t begin = 0, end = 0;  // its configurations_
    std::size_t hash = 0;
    std::uint32_t round = 0;  // the round of the last question about it
    bool is_complete = false, is_too_large = false;
    bool is_last = false;  // whether nothing follows the call
  };
  LocalId find_after(LocalId id, std::uint8_t byte);
  LocalId of_set(ConfigurationSet& set, bool is_last);
  void grow_slots();
  StackId copied(StackId stack, const CallStacks& stacks, StackId bottom);

  const Automaton& automaton_;
  const Kept kept_;
  const std::size_t num_classes_;
  CallStacks stacks_;
  ConfigurationStepper stepper_;
  ConfigurationSet reached_;
  std::vector<State> states_;
  std::vector<Configuration> configurations_;  // the configurations of all states
  std::vector<LocalId> transitions_;           // [states, classes]
  std::vector<LocalId> slots_;                 // a table by hashes, of a power of two; kDead: none
  std::uint32_t round_ = 1;
  std::size_t num_bytes_ = 0;
};

}  // namespace octavo
