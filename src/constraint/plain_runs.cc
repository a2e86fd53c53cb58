#include "constraint/plain_runs.h"

#include <algorithm>
#include <array>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::array kPlainAscii = {Utf8PlaceStep{0x20, 0x21, 0}, Utf8PlaceStep{0x23, 0x5B, 0},
                                    Utf8PlaceStep{0x5D, 0x7E, 0}};

constexpr std::array<std::uint64_t, 2> plain_ascii() {
  std::array<std::uint64_t, 2> bits = {};
  for (const Utf8PlaceStep& range : kPlainAscii)
    for (unsigned byte = range.low; byte <= range.high; ++byte) bits[byte / 64] |= std::uint64_t{1} << byte % 64;
  return bits;
}

}  // namespace

bool PlainRuns::holds(LocalId state, const TokenTrie::Below& below) {
  constexpr auto kPlain = plain_ascii();
  if (below.depth > kMostBytes || ((below.ascii[0] & ~kPlain[0]) | (below.ascii[1] & ~kPlain[1])) != 0) return false;
  if (!below.has_others) {
    const std::uint8_t with_others = known_run(node_of(state, 0, true));  // where more may follow, less may
    if (with_others != kUnknown && with_others >= below.depth) return true;
    return run_of(node_of(state, 0, false)) >= below.depth;
  }
  for (std::uint8_t place = 0; place < kNumUtf8Places; ++place)
    if ((below.utf8_places >> place & 1) != 0 && run_of(node_of(state, place, true)) >= below.depth) return true;
  return false;
}

/// Looks at all that the state leads to, and at how far each of them is from where a character is refused.
std::uint8_t PlainRuns::find_run(Node root) {
  num_steps_ = 0;
  arrows_.clear();
  open_.clear();
  add_target(root, root);
  std::size_t num_expanded = 0;
  for (; num_expanded < open_.size() && num_steps_ <= kMaxSteps; ++num_expanded) {
    const Node node = open_[num_expanded];
    if (!expand(node)) found_[node] = 0;
  }
  for (const Node node : std::span(open_).subspan(num_expanded)) found_[node] = 0;  // nothing is known of them
  spread_ends();
  const std::uint8_t run = found_[root];
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (i < num_expanded) runs_[open_[i]] = found_[open_[i]];
    found_[open_[i]] = kUnknown;
  }
  return run;
}

/// False: a character is refused there.
bool PlainRuns::expand(Node node) {
  const std::uint8_t place = node / 2 % kNumUtf8Places;
  locals_.mark_edges(state_of(node), edges_);
  if (place > 0) return expand_range(node, kUtf8Continuations[place - 1U]);
  const auto goes_on = [&](const Utf8PlaceStep& range) { return expand_range(node, range); };
  if (!std::ranges::all_of(kPlainAscii, goes_on)) return false;
  return node % 2 == 0 || std::ranges::all_of(std::span(kUtf8FirstSteps).subspan(1), goes_on);
}

/// Bytes between two edges of the automaton lead to one state.
bool PlainRuns::expand_range(Node node, const Utf8PlaceStep& range) {
  for (std::size_t byte = range.low; byte <= range.high; ++byte) {
    if (byte > range.low && !edges_[byte]) continue;
    ++num_steps_;
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
  if (const std::uint8_t known = runs_[target]; known != kUnknown) {
    found_[node] = std::min<std::uint8_t>(found_[node], known < kMostBytes ? known + 1 : known);
    return;
  }
  if (found_[target] == kUnknown) {
    found_[target] = kMostBytes;
    open_.push_back(target);
  }
  arrows_.emplace_back(target, node);
}

/// From each end backwards, the nearest first: a run ends one byte earlier than that of the nearest state it leads to.
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
