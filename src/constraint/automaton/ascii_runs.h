// The numbers of characters of ASCII sets that may follow each other behind a single state of an automaton.
//
// A text under `.{0,300}(yes|no).{0,300}` stands in a set of states that is met once and never again, but one of these
// states alone reads any hundred characters. A set reads all that one of its states reads, so that no other set needs
// to be looked at. The runs are found for states in loops and in copies, and for the few sets of characters that these
// repeat.
//
// Immutable once found; any thread may read it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "constraint/automaton/simulation.h"
#include "constraint/trie/plain_text.h"
#include "constraint/trie/token_trie.h"

namespace octavo {

class AsciiRuns {
 public:
  static constexpr std::size_t kMaxSets = 4;
  static constexpr std::uint8_t kEndless = 0xFF;
  static constexpr std::size_t kMaxStates = 1 << 16;  // a larger automaton has no runs
  static constexpr int kFewBytes = 24;                // a smaller set of bytes has no runs

  AsciiRuns() = default;
  static AsciiRuns of(const Automaton& automaton, const AutomatonShape& shape);

  /// Whether all bytes below a node may follow in this state; false may also mean that the answer is not known.
  bool holds(StateId state, const TokenTrie::Below& below) const {
    if (below.has_others || state >= runs_.size()) return false;
    for (std::size_t i = 0; i < num_sets_; ++i)
      if (runs_[state][i] >= below.depth && are_within(below.ascii, sets_[i])) return true;
    return false;
  }
  bool empty() const { return num_sets_ == 0; }
  std::size_t num_bytes() const { return runs_.capacity() * sizeof(Runs); }

 private:
  friend class AsciiRunsFinder;
  using Runs = std::array<std::uint8_t, kMaxSets>;

  std::array<AsciiSet, kMaxSets> sets_ = {};
  std::size_t num_sets_ = 0;
  std::vector<Runs> runs_;  // [states] bytes of each set that may follow, below kMostDepth, or kEndless
};

}  // namespace octavo
