#include "constraint/masks/plain_runs.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "constraint/trie/plain_text.h"

namespace octavo {
bool PlainRuns::holds(LocalId state, const TokenTrie::Below& below) {
  if (below.depth > kMostBytes || !are_within(below.ascii, kPlainAscii)) return false;
  if (!below.has_others) {
    const std::uint8_t with_others = known_run(node_of(state, 0, true));  // fewer may follow than without others
    if (with_others != kUnknown && with_others >= below.depth) return true;
    return run_of(node_of(state, 0, false)) >= below.depth;
  }
  for (std::uint8_t place = 0; place < kNumUtf8Places; ++place)
    if ((below.utf8_places >> place & 1) != 0 && run_of(node_of(state, place, true)) >= below.depth) return true;
  return false;
}

/// Looks at all states that are so many bytes away, the nearest first, and at how far each is from a refused character.
std::uint8_t PlainRuns::find_run(Node root) {
  num_steps_ = 0;
  may_be_endless_ = true;
  arrows_.clear();
  open_.clear();
  add_target(root, root);
  std::vector<std::size_t> levels = {0};  // where the nodes of each distance begin
  std::size_t num_expanded = 0;
  bool is_refused = false;  // the nearest way to a refused character is the root's run
  while (levels.size() <= kMostBytes && levels.back() < open_.size() && num_steps_ <= kMaxSteps && !is_refused) {
    const std::size_t end = open_.size();
    for (; num_expanded < end && num_steps_ <= kMaxSteps && !is_refused; ++num_expanded) {
      is_refused = !expand(open_[num_expanded]);
      if (is_refused) add_end(open_[num_expanded]);
    }
    if (!is_refused) levels.push_back(end);
  }
  const bool is_cut = num_steps_ > kMaxSteps && !is_refused, is_all = num_expanded == open_.size();
  if (is_cut)
    for (const Node node : std::span(open_).subspan(num_expanded)) add_end(node);  // nothing is known of these nodes
  spread_ends();
  const std::size_t last_level = levels.size() - 1;  // with a refusal, the level of the refused node
  for (std::size_t level = 0, i = 0; i < open_.size(); ++i) {
    if (level + 1 < levels.size() && i == levels[level + 1]) ++level;
    // An end as far from the root as a node some bytes away is out of that node's sight. A question that was cut short
    // gives only the root's answer, as if nothing had been asked before.
    std::size_t sight = is_all || i == 0 ? kMostBytes + 1U : kMostBytes - level;
    if (is_refused && i > 0) sight = last_level - std::min(last_level, level) + 1;
    if (is_cut && i > 0) sight = 0;
    const bool is_endless = is_all && may_be_endless_ && found_[open_[i]] == kMostBytes;
    if (i < num_expanded && found_[open_[i]] < sight) runs_[open_[i]] = is_endless ? kEndless : found_[open_[i]];
    found_[open_[i]] = kUnknown;
  }
  return runs_[root];
}

void PlainRuns::add_end(Node node) {
  found_[node] = 0;
  may_be_endless_ = false;
}

/// Adds the nodes that follow a node. False: a character is refused there.
bool PlainRuns::expand(Node node) {
  const std::uint8_t place = node / 2 % kNumUtf8Places;
  locals_.mark_edges(state_of(node), edges_);
  may_be_endless_ = may_be_endless_ && is_inside(state_of(node));
  if (place > 0) return expand_range(node, kUtf8Continuations[place - 1U]);
  const auto goes_on = [&](const Utf8PlaceStep& range) { return expand_range(node, range); };
  if (!std::ranges::all_of(kPlainRanges, goes_on)) return false;
  return node % 2 == 0 || std::ranges::all_of(std::span(kUtf8FirstSteps).subspan(1), goes_on);
}

/// Whether no control character is taken, and the call does not end.
bool PlainRuns::is_inside(LocalId state) {
  if (locals_.is_complete(state)) return false;
  for (std::size_t byte = 0; byte < kPlainRanges.front().low; ++byte) {
    if (byte > 0 && !edges_[byte]) continue;
    if (locals_.after(state, static_cast<std::uint8_t>(byte)) != LocalStates::kDead) return false;
  }
  return true;
}

/// Adds the nodes of a range: bytes between two edges of the automaton lead to one state.
bool PlainRuns::expand_range(Node node, const Utf8PlaceStep& range) {
  for (std::size_t byte = range.low; byte <= range.high; ++byte) {
    if (byte > range.low && !edges_[byte]) continue;
    num_steps_ += 1 + locals_.num_configurations(state_of(node)) / kConfigurationsOfAStep;
    const LocalId target = locals_.after(state_of(node), static_cast<std::uint8_t>(byte));
    if (target == LocalStates::kDead || locals_.is_too_large(target)) return false;
    add_target(node, node_of(target, range.next, node % 2 == 1));
  }
  return true;
}

void PlainRuns::add_target(Node node, Node target) {
  if (target >= runs_.size()) {
    runs_.resize(to_size(target) + 1, kUnknown);
    found_.resize(runs_.size(), kUnknown);
  }
  if (found_[target] == kUnknown) {
    found_[target] = kMostBytes;
    open_.push_back(target);
  }
  arrows_.emplace_back(target, node);
}

/// Goes backwards from each end, the nearest first: a run is one byte longer than that of the nearest state that it
/// leads to.
void PlainRuns::spread_ends() {
  std::ranges::sort(arrows_);
  std::array<std::vector<Node>, kMostBytes + 1> at;
  for (const Node node : open_)
    if (found_[node] < kMostBytes) at[found_[node]].push_back(node);
  for (std::uint8_t run = 0; run < kMostBytes; ++run) {
    for (std::size_t i = 0; i < at[run].size(); ++i) {
      const Node node = at[run][i];
      if (found_[node] != run) continue;  // a nearer end was found
      for (const auto& [to, from] : std::ranges::equal_range(arrows_, node, {}, &std::pair<Node, Node>::first)) {
        if (found_[from] <= run + 1) continue;
        found_[from] = run + 1;
        at[run + 1U].push_back(from);
      }
    }
  }
}

}  // namespace octavo
