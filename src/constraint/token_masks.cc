#include "constraint/token_masks.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kMostCalls = 3;  // above another that is looked at together with it

/// A configuration, and the call that it is looked at in.
struct Placed {
  StackId call;
  Configuration member;
};

/// By call. A call in the midst of another, such as that of a character within a string, is looked at as a part of it
/// where both are alive: apart, the tokens that run over its end would be found once more for each place it returns to.
std::vector<Placed> placed_by_call(std::span<const Configuration> members, const CallStacks& stacks) {
  std::vector<Placed> placed;
  placed.reserve(members.size());
  for (const Configuration& member : members) placed.push_back({member.stack, member});
  std::ranges::stable_sort(placed, {}, [](const Placed& one) { return one.member.stack; });
  // A stack is made after what lies below it, whose place is known by then.
  for (auto begin = placed.begin(); begin != placed.end();) {
    const StackId stack = begin->member.stack;
    StackId call = stack, below = stack;
    for (int i = 0; i < kMostCalls && below != CallStacks::kBottom; ++i) {
      below = stacks.below(below);
      const auto known = std::ranges::lower_bound(placed.begin(), begin, below, {},
                                                  [](const Placed& one) { return one.member.stack; });
      if (known == begin || known->member.stack != below) continue;
      call = known->call;
      break;
    }
    for (; begin != placed.end() && begin->member.stack == stack; ++begin) begin->call = call;
  }
  std::ranges::stable_sort(placed, {}, &Placed::call);
  return placed;
}

}  // namespace

TokenMasks::TokenMasks(const Automaton& automaton, const TokenTrie& trie, std::size_t num_tokens)
    : trie_(trie),
      num_words_(mask_words(num_tokens)),
      locals_(automaton),
      runs_(automaton, locals_),
      plain_runs_(locals_) {}

bool TokenMasks::allow(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space,
                       std::span<MaskWord> mask) {
  if (set.is_too_large) return false;
  const std::vector<Placed> placed = placed_by_call(set.members, stacks);
  const std::lock_guard lock(mutex_);
  forget_if_full();
  std::vector<Configuration> members;
  for (auto begin = placed.begin(); begin != placed.end();) {
    members.clear();
    const StackId call = begin->call;
    for (; begin != placed.end() && begin->call == call; ++begin) members.push_back(begin->member);
    if (!add(entry_of(locals_.of_call(members, stacks, call), drops_space), call, stacks, mask)) return false;
  }
  return true;
}

bool TokenMasks::add(Entry& entry, StackId stack, const CallStacks& stacks, std::span<MaskWord> mask) {
  for (Entry* here = &entry;;) {
    if (here->is_failed) return false;
    for (std::size_t i = 0; i < here->plain_bits.size(); ++i) mask[i] |= here->plain_bits[i];
    for (std::size_t i = 0; i < here->bits.size(); ++i) mask[i] |= here->bits[i];
    for (const TokenId token : here->tokens) allow_token(mask, to_size(token));
    if (here->exits.empty() || stack == CallStacks::kBottom) return true;
    here = &entry_behind(*here, stacks.return_of(stack));
    stack = stacks.below(stack);
  }
}

TokenMasks::Entry& TokenMasks::entry_of(LocalId from, bool drops_space) {
  std::unique_ptr<Entry>& entry = entries_[{from, drops_space}];
  if (entry != nullptr) return *entry;
  entry = std::make_unique<Entry>();
  work_ = 0;
  walk(from, drops_space, *entry);
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

/// From the root.
void TokenMasks::walk(LocalId from, bool drops_space, Entry& entry) {
  if (!drops_space) {
    walk_parts(from, entry);
    return;
  }
  for (const TokenTrie::Part& part : trie_.parts())
    for (const auto& [byte, node] : part.first)
      walk_below(byte == ' ' ? node + 1 : node, trie_.at(node).end, from, entry);
}

void TokenMasks::walk_parts(LocalId from, Entry& entry) {
  std::optional<std::uint8_t> plain = runs_.plain_only(from);
  if (!plain && plain_runs_.is_endless(from)) plain = FreeRuns::kEndless;
  if (plain) entry.plain_bits = trie_.plain_bits(*plain);
  for (const TokenTrie::Part& part : trie_.parts()) {
    const bool is_known =
        part.text == TokenTrie::Text::kLongPlain ? plain != FreeRuns::kMostBytes : part.text != TokenTrie::Text::kOther;
    if (plain && is_known) continue;
    if (may_follow(from, part.below)) {
      ++work_;
      take(part.tokens);
      continue;
    }
    for (const auto& [byte, node] : part.first)
      if (locals_.after(from, byte) != LocalStates::kDead) walk_below(node, trie_.at(node).end, from, entry);
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
    const TokenTrie::Below& below = trie_.below(node);
    if (node + 1 < here.end && may_follow_byte(open_.back().second, here.byte, local, below)) {
      // Nothing that follows an end of the call there adds to them.
      ++work_;
      take(trie_.tokens_from(node));
      node = here.end;
      continue;
    }
    visit(node, local, entry);
    ++node;
    if (node < here.end) open_.emplace_back(here.end, local);
  }
}

void TokenMasks::take(TokenRange tokens) {
  if (tokens.size() == 0) return;
  if (!ranges_.empty() && ranges_.back().end == tokens.begin) {
    ranges_.back().end = tokens.end;
  } else {
    ranges_.push_back(tokens);
  }
}

void TokenMasks::visit(std::uint32_t node, LocalId local, Entry& entry) {
  work_ += 1 + locals_.num_configurations(local);
  if (work_ > kMaxWork || locals_.is_too_large(local)) entry.is_failed = true;
  take(trie_.tokens_at(node));
  if (locals_.is_complete(local) && trie_.at(node).end > node + 1) entry.exits.push_back(node);
}

/// Brings the tokens into the smaller of the two forms.
void TokenMasks::finish(Entry& entry) {
  order_ranges();
  std::size_t num_tokens = 0;
  for (const TokenRange& range : ranges_) num_tokens += range.size();
  if (num_tokens > num_words_) {
    set_bits(entry);
  } else {
    entry.tokens.reserve(num_tokens);
    for (const auto& [begin, end] : ranges_)
      entry.tokens.insert(entry.tokens.end(), trie_.tokens().begin() + begin, trie_.tokens().begin() + end);
  }
  ranges_.clear();
  entry_bytes_ += sizeof(Entry) + 128 + entry.bits.size() * sizeof(MaskWord) + entry.tokens.size() * sizeof(TokenId) +
                  entry.exits.size() * sizeof(std::uint32_t);
}

/// Ascending, and apart: a walk finds them so, but below exits that lie below each other it goes twice.
void TokenMasks::order_ranges() {
  if (std::ranges::adjacent_find(ranges_, [](const TokenRange& a, const TokenRange& b) { return a.end > b.begin; }) ==
      ranges_.end())
    return;
  std::ranges::sort(ranges_, {}, &TokenRange::begin);
  std::size_t last = 0;
  for (const TokenRange& range : std::span(ranges_).subspan(1)) {
    if (range.begin <= ranges_[last].end) {
      ranges_[last].end = std::max(ranges_[last].end, range.end);
    } else {
      ranges_[++last] = range;
    }
  }
  ranges_.resize(last + 1);
}

/// A range may go on from one part of the tree into the next.
std::vector<TokenMasks::TokenRange> TokenMasks::ranges_within(TokenRange bounds) const {
  std::vector<TokenRange> within;
  for (const TokenRange& range : ranges_) {
    const std::uint32_t begin = std::max(range.begin, bounds.begin), end = std::min(range.end, bounds.end);
    if (begin < end) within.push_back({begin, end});
  }
  return within;
}

/// Of a part whose tokens are mostly allowed those are struck out that are not.
void TokenMasks::set_bits(Entry& entry) const {
  entry.bits.resize(num_words_);
  const auto for_tokens = [&](std::uint32_t begin, std::uint32_t end, auto&& set) {
    for (std::uint32_t i = begin; i < end; ++i) set(entry.bits, to_size(trie_.tokens()[i]));
  };
  for (const TokenTrie::Part& part : trie_.parts()) {
    const std::vector<TokenRange> allowed = ranges_within(part.tokens);
    std::uint32_t num_allowed = 0;
    for (const TokenRange& range : allowed) num_allowed += range.size();
    if (2 * num_allowed <= part.tokens.size()) {
      for (const TokenRange& range : allowed) for_tokens(range.begin, range.end, allow_token);
      continue;
    }
    for (std::size_t i = 0; i < num_words_; ++i) entry.bits[i] |= part.bits[i];
    std::uint32_t gap = part.tokens.begin;
    for (const TokenRange& range : allowed) {
      for_tokens(gap, range.begin, forbid_token);
      gap = range.end;
    }
    for_tokens(gap, part.tokens.end, forbid_token);
  }
}

void TokenMasks::forget_if_full() {
  const bool has_many_locals = locals_.num_bytes() > kMaxLocalBytes;
  if (entry_bytes_ > kMaxEntryBytes || has_many_locals) {
    entries_.clear();
    entry_bytes_ = 0;
  }
  if (!has_many_locals) return;
  locals_.clear();
  runs_.clear();
  plain_runs_.clear();
}

}  // namespace octavo
