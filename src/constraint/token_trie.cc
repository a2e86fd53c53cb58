#include "constraint/token_trie.h"

#include <algorithm>

#include "base/to_size.h"
#include "constraint/utf8_places.h"

namespace octavo {

TokenTrie::TokenTrie(std::span<const std::string_view> tokens) {
  for (std::size_t id = 0; id < tokens.size(); ++id)
    if (!tokens[id].empty()) tokens_.push_back(static_cast<TokenId>(id));
  std::ranges::sort(tokens_, [&](TokenId a, TokenId b) {  // std::string_view compares bytes as unsigned
    return tokens[to_size(a)] != tokens[to_size(b)] ? tokens[to_size(a)] < tokens[to_size(b)] : a < b;
  });
  nodes_.push_back({.end = 0, .first_token = 0, .byte = 0});
  std::vector<std::uint32_t> open = {kRoot};  // the nodes on the way to the last token
  const auto close_to = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) nodes_[open.back()].end = static_cast<std::uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view bytes = tokens[to_size(tokens_[i])];
    const auto common = to_size(std::ranges::mismatch(last, bytes).in1 - last.begin());
    close_to(common + 1);
    for (const char c : bytes.substr(common)) {
      open.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0, .first_token = i, .byte = static_cast<std::uint8_t>(c)});
    }
    last = bytes;
  }
  close_to(0);
  nodes_.push_back({.end = 0, .first_token = static_cast<std::uint32_t>(tokens_.size()), .byte = 0});
  find_below();
}

/// From the last node to the first: children before their parents.
void TokenTrie::find_below() {
  below_.resize(num_nodes());
  for (std::uint32_t node = num_nodes(); node-- > 0;) {
    Below& below = below_[node];
    for (std::uint32_t child = node + 1; child < nodes_[node].end; child = nodes_[child].end) {
      const Below& more = below_[child];
      const std::uint8_t byte = nodes_[child].byte;
      if (byte < 128) below.ascii[byte / 64] |= std::uint64_t{1} << byte % 64;
      for (std::size_t i = 0; i < 2; ++i) below.ascii[i] |= more.ascii[i];
      below.has_others = below.has_others || byte >= 128 || more.has_others;
      below.depth = std::max(below.depth, static_cast<std::uint8_t>(std::min(more.depth + 1, int{kMostDepth})));
      for (std::uint8_t place = 0; place < kNumUtf8Places; ++place) {
        const std::uint8_t next = utf8_place_after(place, byte);
        const bool is_valid = next < kNumUtf8Places && (more.utf8_places >> next & 1) != 0;
        if (!is_valid) below.utf8_places &= static_cast<std::uint8_t>(~(1U << place));
      }
    }
  }
}

}  // namespace octavo
