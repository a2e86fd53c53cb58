// A byte-level pushdown automaton: states that read bytes, call rules and return from them.
//
//     Grammar ─ build() ─▶ Automaton ─▶ Configurations (which states, on which stacks) ─▶ masks of tokens
//
// The automaton is immutable once built; any thread may read it. It is not deterministic: readers follow sets of
// states, and LocalStates keeps the sets that were met.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "constraint/automaton/ascii_runs.h"
#include "constraint/automaton/simulation.h"
#include "constraint/grammar/grammar.h"

namespace octavo {

using StateId = std::uint32_t;

class Automaton {
 public:
  static constexpr std::size_t kMaxStates = 1 << 19;
  static constexpr std::size_t kMaxEdges = 1 << 20;  // the bound of edges, and of targets
  static constexpr StateId kReturn = 0;              // the end of every rule

  enum class Kind : std::uint8_t {
    kReturn,
    kBytes,  // reads a byte: edges()
    kSplit,  // goes on in any of targets(), and reads nothing
    kCall,   // calls a rule, then goes on with `next`
    kToken,  // reads one token, then goes on with `next`
  };
  struct State {
    Kind kind = Kind::kReturn;
    std::uint32_t begin = 0,
                  end = 0;  // edges or targets; `begin` of a kCall is its rule's first state, of a kToken the token
    StateId next = 0;
  };
  struct Edge {
    std::uint8_t low, high;  // [low, high]
    StateId target;
  };

  /// Bytes, by their values.
  using ByteSet = std::bitset<256>;

  /// `written`: the bytes that a text may have; those that no token of a vocabulary has lead nowhere. Errors: a rule
  /// that nothing defines, or that begins with itself; a language without any text of such bytes; more than kMaxStates
  /// or kMaxEdges; a grammar that is refused, or whose work ends.
  static Result<Automaton> build(const Grammar& grammar, const ByteSet& written = ByteSet().set());

  StateId start() const { return start_; }
  std::size_t num_states() const { return states_.size(); }
  const State& at(StateId id) const { return states_[id]; }
  std::span<const Edge> edges(const State& state) const {
    return std::span(edges_).subspan(state.begin, state.end - state.begin);
  }
  std::span<const StateId> targets(const State& state) const {
    return std::span(targets_).subspan(state.begin, state.end - state.begin);
  }
  /// Whether some text leads from the state to the end of the rule. Other states are dead ends, which nothing enters.
  bool is_live(StateId id) const { return is_live_[id]; }

  /// Whether the state lies in a short loop (automaton_loops.h).
  bool is_in_loop(StateId id) const { return is_in_loop_[id]; }

  /// The class of a byte; every state treats bytes of one class alike.
  std::uint8_t class_of(std::uint8_t byte) const { return class_of_[byte]; }
  std::size_t num_classes() const { return num_classes_; }
  const Simulation& simulation() const { return simulation_; }
  const AsciiRuns& ascii_runs() const { return ascii_runs_; }
  /// The bytes of the automaton on the heap.
  std::size_t num_bytes() const;

 private:
  friend class AutomatonBuilder;
  Automaton() = default;
  void shrink();

  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<StateId> targets_;
  std::vector<bool> is_live_, is_in_loop_;
  StateId start_ = 0;
  std::array<std::uint8_t, 256> class_of_ = {};
  std::size_t num_classes_ = 1;
  Simulation simulation_;
  AsciiRuns ascii_runs_;
};

}  // namespace octavo
