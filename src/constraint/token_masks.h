// The tokens that a constraint allows at a place, found over the tree of the vocabulary and kept.
//
// A token is allowed in one of two ways. It is read within the call that the text stands in, or runs over the call's
// end into what follows there. The first does not depend on the stack, so that it is kept for each set of states. Of
// the second only the nodes of the tree are kept at which the call may end; what follows them is looked up, or found
// and kept, for the state that the call returns to. So a mask is a few bit sets joined, once the states were met.
// Inside of strings whole subtrees are taken at once (free_runs.h, plain_runs.h), and most of the vocabulary by one
// look.
//
// Any thread may call it. What it answers does not depend on what is kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "constraint/configurations.h"
#include "constraint/free_runs.h"
#include "constraint/local_states.h"
#include "constraint/plain_runs.h"
#include "constraint/token_bits.h"
#include "constraint/token_trie.h"

namespace octavo {

class TokenMasks {
 public:
  /// Configurations that are looked at for one set of states, in all nodes of the tree. More is a constraint that is
  /// too ambiguous to be followed in time.
  static constexpr std::size_t kMaxWork = 1 << 23;
  /// Of what is kept; beyond it all is forgotten.
  static constexpr std::size_t kMaxLocalBytes = 8 << 20, kMaxEntryBytes = 16 << 20;

  /// Both must outlive it.
  TokenMasks(const Automaton& automaton, const TokenTrie& trie, std::size_t num_tokens);

  /// Sets the bits of the tokens whose bytes the set can read, and of those that it can read as a token. With
  /// `drops_space` a space at the front of a token is no part of its text. False: kMaxWork or kMaxConfigurations was
  /// exceeded.
  bool allow(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space, std::span<MaskWord> mask);

 private:
  struct Entry {
    // Of allowed tokens: plain text of the tree, others, and themselves where there are few.
    std::span<const MaskWord> plain_bits = {};
    std::vector<MaskWord> bits = {};
    std::vector<TokenId> tokens = {};
    // Nodes of the tree at which the call may end, with others below them, of which some are not allowed anyway.
    std::vector<std::uint32_t> exits = {};
    bool is_failed = false;
    std::map<StateId, std::unique_ptr<Entry>> returned =
        {};  // by the state that is returned to: what follows the exits
  };

  using TokenRange = TokenTrie::TokenRange;

  Entry& entry_of(LocalId from, bool drops_space);
  Entry& entry_behind(Entry& entry, StateId state);
  bool add(Entry& entry, StackId stack, const CallStacks& stacks, std::span<MaskWord> mask);
  void walk(LocalId from, bool drops_space, Entry& entry);
  void walk_parts(LocalId from, Entry& entry);
  void walk_below(std::uint32_t begin, std::uint32_t end, LocalId from, Entry& entry);
  /// All bytes below a node may follow in this state.
  bool may_follow(LocalId state, const TokenTrie::Below& below) {
    return runs_.holds(state, below) || plain_runs_.holds(state, below);
  }
  /// The same of a node whose byte leads from `before` to `state`. What one way can tell is asked before all ways are.
  bool may_follow_byte(LocalId before, std::uint8_t byte, LocalId state, const TokenTrie::Below& below) {
    return runs_.holds(state, below) || runs_.holds_behind(before, byte, below) || plain_runs_.holds(state, below);
  }
  void take(TokenRange tokens);
  void visit(std::uint32_t node, LocalId local, Entry& entry);
  void finish(Entry& entry);
  void order_ranges();
  std::vector<TokenRange> ranges_within(TokenRange bounds) const;
  void set_bits(Entry& entry) const;
  void forget_if_full();

  const TokenTrie& trie_;
  const std::size_t num_words_;
  std::mutex mutex_;  // of all below
  LocalStates locals_;
  FreeRuns runs_;
  PlainRuns plain_runs_;
  std::map<std::pair<LocalId, bool>, std::unique_ptr<Entry>> entries_;  // by state, and whether a space is dropped
  std::size_t entry_bytes_ = 0;
  std::size_t work_ = 0;                                 // of the walk that is under way
  std::vector<TokenRange> ranges_;                       // that it has found
  std::vector<std::pair<std::uint32_t, LocalId>> open_;  // ends of subtrees, and the state in them
};

}  // namespace octavo
