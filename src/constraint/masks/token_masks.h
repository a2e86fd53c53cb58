// The tokens that a constraint allows at a place, found over the tree of the vocabulary and kept.
//
// A token is allowed in one of two ways. It is read within the call that the text stands in, or runs over the call's
// end into the text behind the call. Tokens of the first kind do not depend on the stack, so that they are kept for
// each set of states. For the second kind only the nodes of the tree at which the call may end are kept; tokens behind
// these are looked up, or found and kept, for the state that the call returns to. So a mask is a few bit sets joined,
// once the states were met. Within strings whole subtrees are taken at once (free_runs.h, plain_runs.h), and most of
// the vocabulary by one look. In a large set the few members in loops are looked at first: tokens that these read need
// not be looked at with the other members, whose sets come once and never again.
//
// Any thread may call it. An answer, and the work that counts for it, do not depend on the masks that are kept. Kept
// masks are found while another thread walks; walks over one constraint go one after another.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "constraint/automaton/configurations.h"
#include "constraint/masks/constraint_memory.h"
#include "constraint/masks/free_runs.h"
#include "constraint/masks/local_states.h"
#include "constraint/masks/mask_search.h"
#include "constraint/masks/plain_runs.h"
#include "constraint/masks/token_ranges.h"
#include "constraint/trie/token_bits.h"
#include "constraint/trie/token_trie.h"

namespace octavo {

class TokenMasks {
 public:
  /// The most steps of a mask: nodes of the tree that are looked at, and configurations of their parents' states.
  static constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 25;
  /// The most states that one walk makes anew. A walk that began with kept states and makes more begins once more
  /// without them, so that no mask depends on kept states: these and the first bound are less than the second together.
  static constexpr std::size_t kMaxGrowth = 40 << 20, kMaxGrowthAlone = 80 << 20;

  /// The automaton, the trie and the memory must outlive the masks.
  TokenMasks(const Automaton& automaton, const TokenTrie& trie, std::size_t num_tokens, ConstraintMemory& memory);
  ~TokenMasks();
  TokenMasks(const TokenMasks&) = delete;
  TokenMasks& operator=(const TokenMasks&) = delete;

  /// Sets the bits of tokens whose bytes the set can read, and of tokens that it can read as a token. With
  /// `drops_space` a space at the front of a token is no part of its text. kTooLarge: more than kMaxWork, than the
  /// growth of a walk, or than kMaxConfigurations. Some bits may be set where the outcome is not kFound.
  FoundMask allow(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space, std::span<MaskWord> mask,
                  const MaskSearch& search = {});
  /// Whether allow() would find the mask, or that it is too large, without a walk.
  bool is_kept(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space);

 private:
  struct Entry {
    // The allowed tokens: plain text of the tree, bits of other tokens, or ids where there are few.
    std::span<const MaskWord> plain_bits = {};
    std::vector<MaskWord> bits = {};
    std::vector<TokenId> tokens = {};
    // Nodes of the tree at which the call may end, with other nodes below them that are not all allowed anyway.
    std::vector<std::uint32_t> exits = {};
    TokenRanges ranges = {};  // the tokens that members in loops read
    std::uint64_t work = 0;
    bool is_failed = false;
  };
  using EntryPointer = std::shared_ptr<const Entry>;

  /// The key of members with the calls above their own call, of a dropped space and of whether something follows the
  /// call; or of an entry and the state to which its call returns.
  using Key = std::vector<std::uint32_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  /// Configurations on stacks that begin at one call.
  struct Members {
    std::span<const Configuration> all;
    const CallStacks& stacks;
    StackId call;
  };

  static Key key_of(const Members& members, bool drops_space);
  std::vector<Configuration> in_loops(const Members& members) const;
  EntryPointer find_members(const Members& members, const Key& key, bool drops_space, const MaskSearch& search);
  EntryPointer find(const Key& key);
  EntryPointer keep(Key key, Entry entry);
  template <class Take>
  FoundMask find_entries(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space,
                         const MaskSearch& search, const Take& take);
  template <class Take>
  FoundMask find_behind(EntryPointer entry, Key key, StackId stack, const CallStacks& stacks, const MaskSearch& search,
                        const Take& take);
  void forget();
  std::size_t bytes_of(const Key& key, const Entry& entry) const;

  /// Sets of states as one state each, and the runs behind these.
  struct Determinised {
    Determinised(const Automaton& automaton, LocalStates::Kept kept)
        : states(automaton, kept), free_runs(automaton, states), plain_runs(states) {}
    void clear();

    LocalStates states;
    FreeRuns free_runs;
    PlainRuns plain_runs;
  };

  /// The entry of a key, which `walk` fills where none is kept; `walk` is false where it was given up. Null: no entry.
  template <class Walk>
  EntryPointer find_or_walk(const Key& key, const MaskSearch& search, const Walk& walk, const Entry* loops = nullptr);
  template <class Walk>
  std::optional<Entry> walked(const MaskSearch& search, const Walk& walk, const Entry* loops, bool keeps_ranges);

  // A walk, by the thread that has walk_mutex_.
  bool walk_members(const Members& members, bool drops_space, Entry& entry);
  bool walk_parts(LocalId from, Entry& entry);
  bool walk_behind(LocalId from, std::span<const std::uint32_t> exits, Entry& entry);
  bool walk_below(std::uint32_t begin, std::uint32_t end, LocalId from, Entry& entry);
  bool may_go_on(Entry& entry);
  LocalId step(LocalId from, std::uint8_t byte);
  bool may_follow(LocalId state, const TokenTrie::Below& below);
  bool one_reads(LocalId state, const TokenTrie::Below& below) const;
  bool may_follow_byte(LocalId before, std::uint8_t byte, LocalId state, const TokenTrie::Below& below);
  void count_runs(LocalId state);
  void visit(std::uint32_t node, LocalId local, Entry& entry);
  bool is_found(TokenRanges::Range tokens) const { return known_ranges_ != nullptr && known_ranges_->holds(tokens); }
  void finish(Entry& entry, bool keeps_ranges);
  std::size_t num_local_bytes() const { return all_.states.num_bytes() + loops_.states.num_bytes(); }
  void clear_locals();

  const Automaton& automaton_;
  const TokenTrie& trie_;
  const std::size_t num_words_;
  ConstraintMemory& memory_;

  std::mutex kept_mutex_;  // guards the entries
  std::unordered_map<Key, EntryPointer, KeyHash> entries_;
  std::size_t entry_bytes_ = 0;

  std::mutex walk_mutex_;  // guards all members below
  Determinised all_, loops_;
  Determinised* walked_ = nullptr;
  const MaskSearch* search_ = nullptr;      // this and the members below belong to the walk under way
  std::uint64_t work_ = 0, looked_at_ = 0;  // the work at which the search was last asked whether it is over
  std::size_t most_bytes_ = 0;              // the bound of the states
  bool has_outgrown_ = false;
  TokenRanges ranges_;                                   // tokens that the walk has found
  const TokenRanges* known_ranges_ = nullptr;            // tokens that the walk need not look for
  std::vector<std::pair<std::uint32_t, LocalId>> open_;  // ends of subtrees, and the states in them
};

}  // namespace octavo
