#include "constraint/token_masks.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {

TokenMasks::TokenMasks(const Automaton& automaton, const TokenTrie& trie, std::size_t num_tokens)
    : trie_(trie), num_words_(mask_words(num_tokens)), locals_(automaton), runs_(automaton, locals_) {}

bool TokenMasks::allow(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space,
                       std::span<MaskWord> mask) {
  if (set.is_too_large) return false;
  std::vector<Configuration> members = set.members;
  std::ranges::stable_sort(members, {}, &Configuration::stack);
  const std::lock_guard lock(mutex_);
  forget_if_full();
  std::vector<StateId> states;
  for (auto begin = members.begin(); begin != members.end();) {
    states.clear();
    const StackId stack = begin->stack;
    for (; begin != members.end() && begin->stack == stack; ++begin) states.push_back(begin->state);
    if (!add(entry_of(states, drops_space), stack, stacks, mask)) return false;
  }
  return true;
}

bool TokenMasks::add(Entry& entry, StackId stack, const CallStacks& stacks, std::span<MaskWord> mask) {
  for (Entry* here = &entry;;) {
    if (here->is_failed) return false;
    for (std::size_t i = 0; i < here->bits.size(); ++i) mask[i] |= here->bits[i];
    for (const TokenId token : here->tokens) allow_token(mask, to_size(token));
    if (here->exits.empty() || stack == CallStacks::kBottom) return true;
    here = &entry_behind(*here, stacks.return_of(stack));
    stack = stacks.below(stack);
  }
}

TokenMasks::Entry& TokenMasks::entry_of(const std::vector<StateId>& states, bool drops_space) {
  std::vector<StateId> key = states;
  key.push_back(drops_space ? 1 : 0);
  std::unique_ptr<Entry>& entry = entries_[key];
  if (entry != nullptr) return *entry;
  entry = std::make_unique<Entry>();
  work_ = 0;
  walk(TokenTrie::kRoot, locals_.of_states(states), drops_space, *entry);
  finish(*entry);
  return *entry;
}

TokenMasks::Entry& TokenMasks::entry_behind(Entry& entry, StateId state) {
  std::unique_ptr<Entry>& behind = entry.returned[state];
  if (behind != nullptr) return *behind;
  behind = std::make_unique<Entry>();
  work_ = 0;
  const LocalId from = locals_.entering(state);
  if (locals_.is_complete(from)) behind->exits = entry.exits;
  behind->is_failed = locals_.is_too_large(from);
  for (const std::uint32_t node : entry.exits) walk_below(node + 1, trie_.at(node).end, from, *behind);
  std::ranges::sort(behind->exits);
  const auto rest = std::ranges::unique(behind->exits);
  behind->exits.erase(rest.begin(), rest.end());
  finish(*behind);
  return *behind;
}

void TokenMasks::walk(std::uint32_t node, LocalId from, bool drops_space, Entry& entry) {
  const std::uint32_t end = trie_.at(node).end;
  if (!drops_space) return walk_below(node + 1, end, from, entry);
  for (std::uint32_t child = node + 1; child < end; child = trie_.at(child).end) {
    const bool is_space = trie_.at(child).byte == ' ';
    walk_below(is_space ? child + 1 : child, trie_.at(child).end, from, entry);
  }
}

/// Whole subtrees of one parent, whose state is `from`.
void TokenMasks::walk_below(std::uint32_t begin, std::uint32_t end, LocalId from, Entry& entry) {
  open_.assign(1, {end, from});
  for (std::uint32_t node = begin; node < end && !entry.is_failed;) {
    while (open_.back().first <= node) open_.pop_back();
    const TokenTrie::Node& here = trie_.at(node);
    const LocalId local = locals_.after(open_.back().second, here.byte);
    if (local == LocalStates::kDead) {
      ++work_;
      node = here.end;
      continue;
    }
    if (node + 1 < here.end && (runs_.holds(local, trie_.below(node)) ||
                                runs_.holds_behind(open_.back().second, here.byte, trie_.below(node)))) {
      take_all(node, entry);
      node = here.end;
      continue;
    }
    visit(node, local, entry);
    ++node;
    if (node < here.end) open_.emplace_back(here.end, local);
  }
}

/// The tokens of a node and below it: nothing that follows an end of the call there adds to them.
void TokenMasks::take_all(std::uint32_t node, Entry& entry) {
  ++work_;
  for (const std::span<const TokenId> tokens : {trie_.tokens_at(node), trie_.tokens_below(node)})
    entry.tokens.insert(entry.tokens.end(), tokens.begin(), tokens.end());
}

void TokenMasks::visit(std::uint32_t node, LocalId local, Entry& entry) {
  work_ += 1 + locals_.num_configurations(local);
  if (work_ > kMaxWork || locals_.is_too_large(local)) entry.is_failed = true;
  const std::span<const TokenId> tokens = trie_.tokens_at(node);
  entry.tokens.insert(entry.tokens.end(), tokens.begin(), tokens.end());
  if (locals_.is_complete(local) && trie_.at(node).end > node + 1) entry.exits.push_back(node);
}

/// Brings the tokens into the smaller of the two forms.
void TokenMasks::finish(Entry& entry) {
  if (entry.tokens.size() > num_words_) {
    entry.bits.resize(num_words_);
    for (const TokenId token : entry.tokens) allow_token(entry.bits, to_size(token));
    entry.tokens = {};
  }
  entry.tokens.shrink_to_fit();
  entry_bytes_ += sizeof(Entry) + 128 + entry.bits.size() * sizeof(MaskWord) + entry.tokens.size() * sizeof(TokenId) +
                  entry.exits.size() * sizeof(std::uint32_t);
}

void TokenMasks::forget_if_full() {
  if (entry_bytes_ > kMaxEntryBytes) {
    entries_.clear();
    entry_bytes_ = 0;
  }
  if (locals_.num_bytes() <= kMaxLocalBytes) return;
  locals_.clear();  // entries know nothing of them
  runs_.clear();
}

}  // namespace octavo
