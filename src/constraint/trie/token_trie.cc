#include "constraint/trie/token_trie.h"

#include "base/to_size.h"
#include "constraint/trie/utf8_places.h"

namespace octavo {

namespace {

using Text = TokenTrie::Text;
constexpr std::array kTextOfPart = {Text::kPlain, Text::kPlain, Text::kLongPlain, Text::kControl, Text::kOther};
static_assert(kTextOfPart.size() == TokenTrie::kNumParts);

/// How many bytes at the beginning strings of JSON have without escapes: UTF-8, perhaps cut at its end.
std::size_t count_plain(std::string_view bytes) {
  std::uint8_t place = 0;
  std::size_t whole = 0;  // the end of the last whole character
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (place == 0) whole = i;
    place = utf8_place_after(place, byte);
    if (place == kNoUtf8Place || (byte < 128 && !holds_byte(kPlainAscii, byte))) return whole;
  }
  return bytes.size();
}

/// The index of a part in kTextOfPart.
std::size_t part_of(std::string_view bytes) {
  const std::size_t num_plain = count_plain(bytes);
  if (num_plain == bytes.size())
    return bytes.size() <= TokenTrie::kFewBytes ? 0 : bytes.size() <= TokenTrie::kMoreBytes ? 1 : 2;
  const bool is_control = holds_byte(kControlAscii, static_cast<std::uint8_t>(bytes[num_plain]));
  return is_control && num_plain < TokenTrie::kMoreBytes ? 3 : 4;
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string_view> tokens) {
  std::vector<std::uint8_t> part_of_token(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    tokens_.push_back(static_cast<TokenId>(id));
    part_of_token[id] = static_cast<std::uint8_t>(part_of(tokens[id]));
  }
  std::ranges::sort(tokens_, [&](TokenId a, TokenId b) {  // std::string_view compares bytes as unsigned
    const std::size_t i = to_size(a), j = to_size(b);
    if (part_of_token[i] != part_of_token[j]) return part_of_token[i] < part_of_token[j];
    return tokens[i] != tokens[j] ? tokens[i] < tokens[j] : a < b;
  });
  nodes_.push_back({.end = 0, .first_token = 0, .byte = 0});
  std::uint32_t begin = 0;
  for (std::size_t part = 0; part < kNumParts; ++part) {
    std::uint32_t end = begin;
    while (end < tokens_.size() && part_of_token[to_size(tokens_[end])] == part) ++end;
    parts_[part].text = kTextOfPart[part];
    parts_[part].tokens = {begin, end};
    parts_[part].begin = static_cast<std::uint32_t>(nodes_.size());
    add_nodes(tokens, begin, end);
    parts_[part].end = static_cast<std::uint32_t>(nodes_.size());
    begin = end;
  }
  nodes_.front().end = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.end = 0, .first_token = static_cast<std::uint32_t>(tokens_.size()), .byte = 0});
  find_below();
  fill_parts(tokens.size());
  fill_plain_bits(tokens);
}

/// Adds the nodes of tokens_[begin, end) below the root.
void TokenTrie::add_nodes(std::span<const std::string_view> tokens, std::uint32_t begin, std::uint32_t end) {
  std::vector<std::uint32_t> open;  // the nodes on the way to the last token
  const auto close_to = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) nodes_[open.back()].end = static_cast<std::uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (std::uint32_t i = begin; i < end; ++i) {
    const std::string_view bytes = tokens[to_size(tokens_[i])];
    const auto common = to_size(std::ranges::mismatch(last, bytes).in1 - last.begin());
    close_to(common);
    for (const char c : bytes.substr(common)) {
      open.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0, .first_token = i, .byte = static_cast<std::uint8_t>(c)});
    }
    last = bytes;
  }
  close_to(0);
}

/// Finds the bytes below nodes, from the last node to the first: children come before their parents.
void TokenTrie::find_below() {
  below_.resize(num_nodes());
  for (std::uint32_t node = num_nodes(); node-- > 0;)
    for (std::uint32_t child = node + 1; child < nodes_[node].end; child = nodes_[child].end)
      add_child(below_[node], child);
}

void TokenTrie::add_child(Below& below, std::uint32_t child) const {
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

void TokenTrie::fill_parts(std::size_t num_tokens) {
  for (Part& part : parts_) {
    for (std::uint32_t child = part.begin; child < part.end; child = nodes_[child].end) {
      add_child(part.below, child);
      part.first.emplace_back(nodes_[child].byte, child);
    }
    part.bits.resize(mask_words(num_tokens));
    for (std::uint32_t i = part.tokens.begin; i < part.tokens.end; ++i) allow_token(part.bits, to_size(tokens_[i]));
  }
}

void TokenTrie::fill_plain_bits(std::span<const std::string_view> tokens) {
  for (std::vector<MaskWord>& bits : plain_bits_) bits.resize(mask_words(tokens.size()));
  for (const Part& part : parts_) {
    if (part.text != Text::kPlain && part.text != Text::kLongPlain) continue;
    for (std::uint32_t i = part.tokens.begin; i < part.tokens.end; ++i) {
      const auto begins = [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; };
      const auto num_characters = to_size(std::ranges::count_if(tokens[to_size(tokens_[i])], begins));
      allow_token(plain_bits_[std::min(num_characters, kMoreBytes + 1)], to_size(tokens_[i]));
    }
  }
  for (std::size_t length = 1; length < plain_bits_.size(); ++length)
    for (std::size_t i = 0; i < plain_bits_[length].size(); ++i) plain_bits_[length][i] |= plain_bits_[length - 1][i];
}

}  // namespace octavo
