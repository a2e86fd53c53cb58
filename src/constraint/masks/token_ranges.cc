#include "constraint/masks/token_ranges.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {

/// Sorts the ranges. A walk finds them in order, except that it goes twice below exits that are below each other.
void TokenRanges::order() {
  if (std::ranges::adjacent_find(ranges_, [](const Range& a, const Range& b) { return a.end > b.begin; }) ==
      ranges_.end())
    return;
  std::ranges::sort(ranges_, {}, &Range::begin);
  std::size_t last = 0;
  for (const Range& range : std::span(ranges_).subspan(1)) {
    if (range.begin <= ranges_[last].end) {
      ranges_[last].end = std::max(ranges_[last].end, range.end);
    } else {
      ranges_[++last] = range;
    }
  }
  ranges_.resize(last + 1);
}

bool TokenRanges::holds(Range tokens) const {
  const auto behind = std::ranges::upper_bound(ranges_, tokens.begin, {}, &Range::begin);
  return behind != ranges_.begin() && tokens.end <= std::prev(behind)->end;
}

std::size_t TokenRanges::num_tokens() const {
  std::size_t num_tokens = 0;
  for (const Range& range : ranges_) num_tokens += range.size();
  return num_tokens;
}

/// The ranges within bounds. A range may continue from one part of the tree into the next.
std::vector<TokenRanges::Range> TokenRanges::within(Range bounds) const {
  std::vector<Range> within;
  for (const Range& range : ranges_) {
    const std::uint32_t begin = std::max(range.begin, bounds.begin), end = std::min(range.end, bounds.end);
    if (begin < end) within.push_back({begin, end});
  }
  return within;
}

/// Sets the bits. A part most of whose tokens are in the ranges is taken as a whole, and the other tokens are removed.
void TokenRanges::set_bits(const TokenTrie& trie, std::span<MaskWord> mask) const {
  const auto for_tokens = [&](std::uint32_t begin, std::uint32_t end, auto&& set) {
    for (std::uint32_t i = begin; i < end; ++i) set(mask, to_size(trie.tokens()[i]));
  };
  for (const TokenTrie::Part& part : trie.parts()) {
    const std::vector<Range> held = within(part.tokens);
    std::uint32_t num_held = 0;
    for (const Range& range : held) num_held += range.size();
    if (2 * num_held <= part.tokens.size()) {
      for (const Range& range : held) for_tokens(range.begin, range.end, allow_token);
      continue;
    }
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] |= part.bits[i];
    std::uint32_t gap = part.tokens.begin;
    for (const Range& range : held) {
      for_tokens(gap, range.begin, forbid_token);
      gap = range.end;
    }
    for_tokens(gap, part.tokens.end, forbid_token);
  }
}

}  // namespace octavo
