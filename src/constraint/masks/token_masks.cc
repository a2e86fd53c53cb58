#include "constraint/masks/token_masks.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kMostCalls = 3;  // above another call that is looked at together with it

/// A configuration, and the call in which it is looked at.
struct Placed {
  StackId call;
  Configuration member;
};

/// The configurations in order of their calls. A call in the middle of another one, such as that of a character within
/// a string, is looked at as a part of it where both are alive: else the tokens that run over its end would be found
/// again for each place to which it returns.
std::vector<Placed> placed_by_call(std::span<const Configuration> members, const CallStacks& stacks) {
  std::vector<Placed> placed;
  placed.reserve(members.size());
  for (const Configuration& member : members) placed.push_back({member.stack, member});
  if (placed.size() == 1) return placed;
  std::ranges::stable_sort(placed, {}, [](const Placed& one) { return one.member.stack; });
  // A stack is made after the part below it, whose place is known by then.
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

constexpr std::uint32_t kBehind = 0xFFFFFFFF;                        // in a key: a state that is returned to follows
constexpr std::uint32_t kDropsSpace = 1, kIsLast = 2, kInLoops = 4;  // at the front of a key
constexpr std::size_t kManyMembers = 24;                             // with so many, those in loops are looked at first
constexpr std::uint64_t kRunWork = 512;            // steps for asking how far a state's text may run on
constexpr std::uint64_t kStepsBetweenLooks = 512;  // between looks at whether a walk is over

}  // namespace

TokenMasks::TokenMasks(const Automaton& automaton, const TokenTrie& trie, std::size_t num_tokens,
                       ConstraintMemory& memory)
    : automaton_(automaton),
      trie_(trie),
      num_words_(mask_words(num_tokens)),
      memory_(memory),
      all_(automaton, LocalStates::Kept::kAll),
      loops_(automaton, LocalStates::Kept::kInLoops) {}

TokenMasks::~TokenMasks() { memory_.remove_masks(entry_bytes_); }

FoundMask TokenMasks::allow(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space,
                            std::span<MaskWord> mask, const MaskSearch& search) {
  return find_entries(set, stacks, drops_space, search, [mask](const Entry& entry) {
    for (std::size_t i = 0; i < entry.plain_bits.size(); ++i) mask[i] |= entry.plain_bits[i];
    for (std::size_t i = 0; i < entry.bits.size(); ++i) mask[i] |= entry.bits[i];
    for (const TokenId token : entry.tokens) allow_token(mask, to_size(token));
  });
}

bool TokenMasks::is_kept(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space) {
  const MaskSearch kept{.waits = false, .walks = false};
  return find_entries(set, stacks, drops_space, kept, [](const Entry&) {}).outcome != FoundMask::Outcome::kNotReady;
}

/// Calls `take` with the entries of which a mask consists.
template <class Take>
FoundMask TokenMasks::find_entries(const ConfigurationSet& set, const CallStacks& stacks, bool drops_space,
                                   const MaskSearch& search, const Take& take) {
  if (set.is_too_large) return {FoundMask::Outcome::kTooLarge, kMaxWork + 1};
  std::vector<Configuration> members;
  if (!automaton_.simulation().empty()) {
    // Fewer members say the same if nothing follows, and are more often known.
    members = set.members;
    automaton_.simulation().reduce(members, stacks, CallStacks::kBottom);
  }
  const std::vector<Placed> placed = placed_by_call(
      automaton_.simulation().empty() ? std::span(set.members) : std::span(std::as_const(members)), stacks);
  FoundMask found;
  for (auto begin = placed.begin(); begin != placed.end() && found;) {
    members.clear();
    const StackId call = begin->call;
    for (; begin != placed.end() && begin->call == call; ++begin) members.push_back(begin->member);
    const Members here = {members, stacks, call};
    Key key = key_of(here, drops_space);
    EntryPointer entry = find_members(here, key, drops_space, search);
    const FoundMask part = find_behind(std::move(entry), std::move(key), call, stacks, search, take);
    found = {part.outcome, found.work + part.work};
    if (found && found.work > kMaxWork) found.outcome = FoundMask::Outcome::kTooLarge;
  }
  return found;
}

/// Calls `take` with an entry, and with those of what follows the calls that may end.
template <class Take>
FoundMask TokenMasks::find_behind(EntryPointer entry, Key key, StackId stack, const CallStacks& stacks,
                                  const MaskSearch& search, const Take& take) {
  for (std::uint64_t work = 0;;) {
    if (entry == nullptr) return {FoundMask::Outcome::kNotReady, work};
    work += entry->work;
    if (entry->is_failed || work > kMaxWork) return {FoundMask::Outcome::kTooLarge, work};
    take(*entry);
    if (entry->exits.empty() || stack == CallStacks::kBottom) return {FoundMask::Outcome::kFound, work};
    const StateId state = stacks.return_of(stack);
    stack = stacks.below(stack);
    const bool is_last = stack == CallStacks::kBottom;
    key.insert(key.end(), {kBehind, state, is_last ? 1U : 0U});
    entry = find_or_walk(key, search, [&, before = entry](Entry& filled) {
      return walk_behind(all_.states.entering(state, is_last), before->exits, filled);
    });
  }
}

TokenMasks::EntryPointer TokenMasks::find_members(const Members& members, const Key& key, bool drops_space,
                                                  const MaskSearch& search) {
  if (EntryPointer known = find(key)) return known;
  EntryPointer known;
  if (const std::vector<Configuration> few = in_loops(members); !few.empty()) {
    const Members loops = {few, members.stacks, members.call};
    Key key_of_loops = key_of(loops, drops_space);
    key_of_loops.front() += kInLoops;
    known = find_or_walk(key_of_loops, search, [&](Entry& filled) { return walk_members(loops, drops_space, filled); });
    if (known == nullptr || known->is_failed) return known;
  }
  return find_or_walk(
      key, search, [&](Entry& filled) { return walk_members(members, drops_space, filled); }, known.get());
}

/// The members in a loop, or in a call out of one; none where there are few members.
std::vector<Configuration> TokenMasks::in_loops(const Members& members) const {
  std::vector<Configuration> found;
  if (members.all.size() < kManyMembers) return found;
  for (const Configuration& member : members.all)
    if (is_in_loop(automaton_, member, members.stacks, members.call)) found.push_back(member);
  return found;
}

/// The key of members: the calls above `call` stand for what they return to, so that equal places have equal keys
/// whatever their stacks' ids are.
TokenMasks::Key TokenMasks::key_of(const Members& members, bool drops_space) {
  const auto& [all, stacks, call] = members;
  Key key;
  key.reserve(2 * all.size() + 1);
  key.push_back((drops_space ? kDropsSpace : 0) + (call == CallStacks::kBottom ? kIsLast : 0));
  for (const auto& [state, stack] : all) {
    key.push_back(state);
    const std::size_t place = key.size();
    key.push_back(0);
    for (StackId above = stack; above != call; above = stacks.below(above)) {
      key.push_back(stacks.return_of(above));
      ++key[place];
    }
  }
  return key;
}

std::size_t TokenMasks::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (const std::uint32_t part : key) hash = (hash ^ part) * 0x9E3779B97F4A7C15 + (hash >> 29);
  return hash ^ hash >> 32;
}

TokenMasks::EntryPointer TokenMasks::find(const Key& key) {
  const std::lock_guard lock(kept_mutex_);
  const auto known = entries_.find(key);
  return known != entries_.end() ? known->second : nullptr;
}

template <class Walk>
TokenMasks::EntryPointer TokenMasks::find_or_walk(const Key& key, const MaskSearch& search, const Walk& walk,
                                                  const Entry* loops) {
  if (EntryPointer known = find(key)) return known;
  if (!search.walks) return nullptr;
  std::unique_lock lock(walk_mutex_, std::defer_lock);
  if (search.waits) {
    lock.lock();
    if (EntryPointer known = find(key)) return known;  // another thread has walked
  } else if (!lock.try_lock()) {
    return nullptr;
  }
  if (num_local_bytes() > memory_.most_masks() / 3) clear_locals();
  std::optional<Entry> entry = walked(search, walk, loops, (key.front() & kInLoops) != 0);
  return entry ? keep(key, std::move(*entry)) : nullptr;
}

/// Walks with the states that are kept, or without them if it outgrows them.
template <class Walk>
std::optional<TokenMasks::Entry> TokenMasks::walked(const MaskSearch& search, const Walk& walk, const Entry* loops,
                                                    bool keeps_ranges) {
  search_ = &search;
  known_ranges_ = loops != nullptr ? &loops->ranges : nullptr;
  walked_ = keeps_ranges ? &loops_ : &all_;
  for (std::size_t growth = kMaxGrowth;; growth = kMaxGrowthAlone) {
    Entry entry;
    work_ = looked_at_ = loops != nullptr ? loops->work : 0;
    has_outgrown_ = false;
    most_bytes_ = num_local_bytes() + growth;
    ranges_.clear();
    walked_->states.begin_count();
    const bool is_whole = walk(entry);
    if (has_outgrown_ && growth == kMaxGrowth) {
      clear_locals();
      continue;
    }
    if (!is_whole) return std::nullopt;
    if (entry.is_failed)
      entry = {.work = kMaxWork + 1, .is_failed = true};
    else
      finish(entry, keeps_ranges);
    entry.work = std::max(entry.work, work_);
    if (num_local_bytes() > memory_.most_masks() / 3) clear_locals();
    return entry;
  }
}

TokenMasks::EntryPointer TokenMasks::keep(Key key, Entry entry) {
  auto kept = std::make_shared<const Entry>(std::move(entry));
  const std::lock_guard lock(kept_mutex_);
  const std::size_t bytes = bytes_of(key, *kept);
  if (entry_bytes_ + bytes > memory_.most_masks() * 2 / 3) forget();
  const auto [place, is_new] = entries_.try_emplace(std::move(key), kept);
  if (is_new) {
    entry_bytes_ += bytes;
    memory_.add_masks(bytes);
  }
  return kept;
}

void TokenMasks::forget() {
  entries_.clear();
  memory_.remove_masks(entry_bytes_);
  entry_bytes_ = 0;
}

std::size_t TokenMasks::bytes_of(const Key& key, const Entry& entry) const {
  return sizeof(Entry) + 128 + key.size() * sizeof(std::uint32_t) + entry.bits.size() * sizeof(MaskWord) +
         entry.tokens.size() * sizeof(TokenId) + entry.exits.size() * sizeof(std::uint32_t) + entry.ranges.num_bytes();
}

/// Walks for members, beginning at the root.
bool TokenMasks::walk_members(const Members& members, bool drops_space, Entry& entry) {
  const LocalId from = walked_->states.of_call(members.all, members.stacks, members.call);
  if (!drops_space) return walk_parts(from, entry);
  for (const TokenTrie::Part& part : trie_.parts())
    for (const auto& [byte, node] : part.first)
      if (!walk_below(byte == ' ' ? node + 1 : node, trie_.at(node).end, from, entry)) return false;
  return true;
}

bool TokenMasks::walk_parts(LocalId from, Entry& entry) {
  count_runs(from);
  std::optional<std::uint8_t> plain;
  if (known_ranges_ == nullptr) plain = walked_->free_runs.plain_only(from);
  if (!plain && known_ranges_ == nullptr && walked_->plain_runs.is_endless(from)) plain = FreeRuns::kEndless;
  if (plain) entry.plain_bits = trie_.plain_bits(*plain);
  for (const TokenTrie::Part& part : trie_.parts()) {
    const bool is_known =
        part.text == TokenTrie::Text::kLongPlain ? plain != FreeRuns::kMostBytes : part.text != TokenTrie::Text::kOther;
    if ((plain && is_known) || is_found(part.tokens)) continue;
    if (may_follow(from, part.below)) {
      ++work_;
      ranges_.take(part.tokens);
      continue;
    }
    for (const auto& [byte, node] : part.first)
      if (step(from, byte) != LocalStates::kDead && !walk_below(node, trie_.at(node).end, from, entry)) return false;
  }
  return true;
}

bool TokenMasks::walk_behind(LocalId from, std::span<const std::uint32_t> exits, Entry& entry) {
  if (walked_->states.is_complete(from)) entry.exits.assign(exits.begin(), exits.end());
  entry.is_failed = walked_->states.is_too_large(from);
  for (const std::uint32_t node : exits)
    if (!walk_below(node + 1, trie_.at(node).end, from, entry)) return false;
  std::ranges::sort(entry.exits);
  const auto rest = std::ranges::unique(entry.exits);
  entry.exits.erase(rest.begin(), rest.end());
  return true;
}

/// Walks whole subtrees of one parent, whose state is `from`. False: it was given up.
bool TokenMasks::walk_below(std::uint32_t begin, std::uint32_t end, LocalId from, Entry& entry) {
  open_.assign(1, {end, from});
  for (std::uint32_t node = begin; node < end && !entry.is_failed;) {
    if (!may_go_on(entry)) return false;
    while (open_.back().first <= node) open_.pop_back();
    const TokenTrie::Node& here = trie_.at(node);
    if (is_found(trie_.tokens_from(node))) {
      ++work_;
      node = here.end;
      continue;
    }
    const LocalId before = open_.back().second, local = step(before, here.byte);
    if (local == LocalStates::kDead) {
      node = here.end;
      continue;
    }
    const TokenTrie::Below& below = trie_.below(node);
    if (node + 1 < here.end && may_follow_byte(before, here.byte, local, below)) {
      // Nothing that follows an end of the call there adds to these tokens.
      ranges_.take(trie_.tokens_from(node));
      node = here.end;
      continue;
    }
    visit(node, local, entry);
    ++node;
    if (node < here.end) open_.emplace_back(here.end, local);
  }
  return true;
}

/// Whether a walk may go on. False: it is over, by its bounds (the entry has failed), by its growth, or by the end of
/// the search.
bool TokenMasks::may_go_on(Entry& entry) {
  if (work_ > kMaxWork) entry.is_failed = true;
  if (work_ - looked_at_ < kStepsBetweenLooks) return true;
  looked_at_ = work_;
  if (num_local_bytes() > most_bytes_) has_outgrown_ = entry.is_failed = true;
  return !search_->is_over();
}

LocalId TokenMasks::step(LocalId from, std::uint8_t byte) {
  work_ += 1 + walked_->states.num_configurations(from);
  return walked_->states.after(from, byte);
}

/// Whether all bytes below a node may follow in this state. Where the members of a set in loops are known, one member
/// is asked at a time: together they lead to many states that never come again.
bool TokenMasks::may_follow(LocalId state, const TokenTrie::Below& below) {
  if (known_ranges_ != nullptr) return one_reads(state, below);
  count_runs(state);
  return walked_->free_runs.holds(state, below) || one_reads(state, below) || walked_->plain_runs.holds(state, below);
}

bool TokenMasks::one_reads(LocalId state, const TokenTrie::Below& below) const {
  if (automaton_.ascii_runs().empty() || below.has_others) return false;
  return std::ranges::any_of(walked_->states.members(state), [&](const Configuration& member) {
    return automaton_.ascii_runs().holds(member.state, below);
  });
}

/// Whether a node's byte, which leads from `before` to `state`, and all bytes below it may follow. One way is asked
/// before all.
bool TokenMasks::may_follow_byte(LocalId before, std::uint8_t byte, LocalId state, const TokenTrie::Below& below) {
  if (known_ranges_ == nullptr && walked_->free_runs.holds_behind(before, byte, below)) return true;
  return may_follow(state, below);
}

void TokenMasks::count_runs(LocalId state) {
  if (walked_->states.is_new(state)) work_ += kRunWork + 8 * walked_->states.num_configurations(state);
}

void TokenMasks::visit(std::uint32_t node, LocalId local, Entry& entry) {
  if (walked_->states.is_too_large(local)) entry.is_failed = true;
  ranges_.take(trie_.tokens_at(node));
  if (walked_->states.is_complete(local) && trie_.at(node).end > node + 1) entry.exits.push_back(node);
}

/// Brings the tokens into the smaller of two forms.
void TokenMasks::finish(Entry& entry, bool keeps_ranges) {
  if (known_ranges_ != nullptr) ranges_.take(*known_ranges_);
  if (keeps_ranges && entry.plain_bits.data() == trie_.plain_bits(FreeRuns::kEndless).data()) {
    // Plain text, all of which follows.
    for (const TokenTrie::Part& part : trie_.parts())
      if (part.text == TokenTrie::Text::kPlain || part.text == TokenTrie::Text::kLongPlain) ranges_.take(part.tokens);
    entry.plain_bits = {};
  }
  ranges_.order();
  const std::size_t num_tokens = ranges_.num_tokens();
  if (num_tokens > num_words_) {
    entry.bits.resize(num_words_);
    ranges_.set_bits(trie_, entry.bits);
  } else {
    entry.tokens.reserve(num_tokens);
    for (const auto& [begin, end] : ranges_.all())
      entry.tokens.insert(entry.tokens.end(), trie_.tokens().begin() + begin, trie_.tokens().begin() + end);
  }
  if (keeps_ranges) entry.ranges = std::move(ranges_);
  ranges_.clear();
}

void TokenMasks::Determinised::clear() {
  states.clear();
  free_runs.clear();
  plain_runs.clear();
}

void TokenMasks::clear_locals() {
  all_.clear();
  loops_.clear();
}

}  // namespace octavo
