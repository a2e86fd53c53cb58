// The places in an automaton at which a text may stand: states that read, each on a stack of calls.
//
// Values of one thread. The set behind a byte depends on the set before it alone.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "constraint/automaton/automaton.h"

namespace octavo {

using StackId = std::uint32_t;

/// A state that reads a byte or a token, and the stack of calls that it will return to.
struct Configuration {
  StateId state;
  StackId stack;
  auto operator<=>(const Configuration&) const = default;
};

/// Stacks that share their lower parts. Equal stacks have equal ids until clear().
class CallStacks {
 public:
  static constexpr StackId kBottom = 0;
  static constexpr std::size_t kBytesEach = 56;  // a stack, and its place in the table

  CallStacks() { clear(); }

  StackId push(StackId below, StateId return_to);
  StateId return_of(StackId stack) const { return nodes_[stack].return_to; }
  StackId below(StackId stack) const { return nodes_[stack].below; }
  std::size_t size() const { return nodes_.size(); }
  void clear();

 private:
  struct Node {
    StateId return_to;
    StackId below;
  };
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, StackId> ids_;
};

/// Whether the state, or one that the stack returns to above `bottom`, lies in a short loop.
bool is_in_loop(const Automaton& automaton, const Configuration& configuration, const CallStacks& stacks,
                StackId bottom);

/// The keys that were met since clear(), which costs nothing.
class MetKeys {
 public:
  MetKeys() : slots_(64) {}
  void clear();
  /// Adds a key. False: the key was met before.
  bool insert(std::uint64_t key);
  std::size_t size() const { return count_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t round = 0;  // the number of clear() calls before it was met
  };
  bool place(std::uint64_t key);

  std::vector<Slot> slots_;  // a power of two of them
  std::uint32_t round_ = 1;
  std::size_t count_ = 0;
};

/// The set of configurations that a text has come to.
struct ConfigurationSet {
  std::vector<Configuration> members;  // ascending; their states read
  bool is_complete = false;            // the text may end here: the bottom of the stack was returned from
  bool is_too_large = false;           // more than kMaxConfigurations: it is taken for a dead end

  bool is_dead() const { return members.empty() && !is_complete; }
  bool operator==(const ConfigurationSet&) const = default;
};

class ConfigurationStepper {
 public:
  static constexpr std::size_t kMaxConfigurations = 1 << 14;  // in one set, those that read nothing included

  /// The automaton and the stacks must outlive the stepper.
  ConfigurationStepper(const Automaton& automaton, CallStacks& stacks) : automaton_(automaton), stacks_(stacks) {}

  /// The set from which a text begins in `state`.
  ConfigurationSet enter(StateId state, StackId stack = CallStacks::kBottom);
  ConfigurationSet after_byte(std::span<const Configuration> from, std::uint8_t byte);
  /// Makes the set behind a byte in a set whose memory is used again.
  void after_byte(std::span<const Configuration> from, std::uint8_t byte, ConfigurationSet& set);
  ConfigurationSet after_token(std::span<const Configuration> from, TokenId token);

 private:
  void add(Configuration configuration);
  void expand(Configuration configuration, ConfigurationSet& set);
  ConfigurationSet close();
  void close(ConfigurationSet& set);

  const Automaton& automaton_;
  CallStacks& stacks_;
  MetKeys met_;
  std::vector<Configuration> work_;
};

}  // namespace octavo
