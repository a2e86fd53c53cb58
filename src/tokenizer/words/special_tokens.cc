#include "tokenizer/words/special_tokens.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/to_size.h"
#include "tokenizer/words/merge_queue.h"

namespace octavo {

namespace {

constexpr unsigned kTokenBits = 23;
static_assert(SpecialTokens::kMaxBytes < std::size_t{1} << (32 - kTokenBits));

}  // namespace

std::uint32_t SpecialTokens::rank_of(const Match& match) {
  return static_cast<std::uint32_t>(kMaxBytes - match.length) << kTokenBits | static_cast<std::uint32_t>(match.token);
}

SpecialTokens::Match SpecialTokens::match_of(std::uint32_t rank, std::size_t begin) {
  return {begin, kMaxBytes - (rank >> kTokenBits), static_cast<TokenId>(rank & ((1U << kTokenBits) - 1))};
}

std::uint32_t SpecialTokens::child(std::uint32_t node, std::uint8_t byte) const {
  std::uint32_t next = nodes_[node].first_child;
  while (next != 0 && nodes_[next].byte != byte) next = nodes_[next].next_sibling;
  return next;
}

void SpecialTokens::add(std::string_view text, TokenId id) {
  OCTAVO_CHECK(!text.empty() && id < TokenId{1} << kTokenBits);
  if (text.size() > kMaxBytes) return;
  starts_[static_cast<std::uint8_t>(text.front())] = true;
  std::uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    std::uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({.byte = byte, .next_sibling = nodes_[node].first_child});
      nodes_[node].first_child = next;
    }
    node = next;
  }
  nodes_[node].token = id;
}

SpecialTokens::Match SpecialTokens::longest_match(std::string_view text, std::size_t begin, std::size_t below) const {
  Match match{begin, 0, kNone};
  std::uint32_t node = 0;
  for (std::size_t i = begin; i < text.size() && i - begin + 1 < below; ++i) {
    node = child(node, static_cast<std::uint8_t>(text[i]));
    if (node == 0) break;
    if (nodes_[node].token != kNone) match = {begin, i - begin + 1, nodes_[node].token};
  }
  return match;
}

std::vector<SpecialTokens::Match> SpecialTokens::resolve(std::string_view text) const {
  OCTAVO_CHECK(text.size() <= to_size(std::numeric_limits<std::int32_t>::max()));
  // Each position waits in the queue with its longest token; one whose token turns out to overlap comes back with its
  // next shorter one. So a position is in the queue once, however many tokens begin there.
  MergeQueue queue;
  const auto push_longest = [&](std::size_t begin, std::size_t below) {
    const Match match = longest_match(text, begin, below);
    if (match.length != 0) queue.push({rank_of(match), static_cast<std::int32_t>(begin)});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_[static_cast<std::uint8_t>(text[i])]) push_longest(i, std::numeric_limits<std::size_t>::max());
  }

  std::vector<Match> accepted;
  std::vector<bool> taken(text.size(), false);
  while (const auto entry = queue.pop()) {
    const Match match = match_of(entry->rank, to_size(entry->position));
    if (taken[match.begin]) continue;
    // Accepted tokens are at least as long as this one, so one that overlaps it covers its begin or its end.
    if (taken[match.begin + match.length - 1]) {
      push_longest(match.begin, match.length);
      continue;
    }
    std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(match.begin), match.length, true);
    accepted.push_back(match);
  }
  std::sort(accepted.begin(), accepted.end(), [](const Match& a, const Match& b) { return a.begin < b.begin; });
  return accepted;
}

std::vector<SpecialTokens::Match> SpecialTokens::find_first(std::string_view text) const {
  std::vector<Match> matches;
  if (is_empty()) return matches;
  for (std::size_t i = 0; i < text.size();) {
    Match match{i, 0, kNone};
    if (starts_[static_cast<std::uint8_t>(text[i])]) {
      match = longest_match(text, i, std::numeric_limits<std::size_t>::max());
    }
    if (match.token >= 0) matches.push_back(match);
    i += std::max<std::size_t>(match.length, 1);
  }
  return matches;
}

std::vector<Fragment> SpecialTokens::split(std::string_view text) const {
  std::vector<Fragment> fragments;
  std::size_t end = 0;
  for (const Match& match : overlap_ == Overlap::kFirstWins ? find_first(text) : resolve(text)) {
    if (match.begin > end) fragments.push_back({-1, text.substr(end, match.begin - end)});
    end = match.begin + match.length;
    fragments.push_back({match.token, text.substr(match.begin, match.length)});
  }
  if (end < text.size()) fragments.push_back({-1, text.substr(end)});
  return fragments;
}

}  // namespace octavo
