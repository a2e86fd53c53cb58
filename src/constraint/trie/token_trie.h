// The tokens of a vocabulary as a tree of their bytes, laid out in depth-first order: whoever meets a byte that cannot
// follow skips all tokens that have it there in one step.
//
// Immutable; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint/trie/plain_text.h"
#include "constraint/trie/token_bits.h"
#include "octavo/token.h"

namespace octavo {

class TokenTrie {
 public:
  struct Node {
    std::uint32_t end;          // the first node behind those below this one
    std::uint32_t first_token;  // its first place in tokens(); its tokens end where those of the next node begin
    std::uint8_t byte;          // the byte that leads here
  };
  struct TokenRange {  // places in tokens()
    std::uint32_t begin = 0, end = 0;
    std::uint32_t size() const { return end - begin; }
  };
  /// The bytes below a node, by which all tokens there can be taken at once.
  struct Below {
    AsciiSet ascii = {};              // the bytes under 128
    std::uint8_t depth = 0;           // the bytes of the longest way down, or kMostDepth
    bool has_others = false;          // whether there are bytes from 128 on
    std::uint8_t utf8_places = 0xFF;  // a bit for each place of a decoder from which the bytes are UTF-8, perhaps cut
  };
  /// The kind of a part's tokens. Plain text has no quotes, backslashes and control characters.
  enum class Text : std::uint8_t {
    kPlain,      // plain text of at most kMoreBytes bytes
    kLongPlain,  // plain text of more bytes
    kControl,    // less than kMoreBytes of plain text, then a control character
    kOther,
  };
  /// Neighbouring subtrees of the root, because a string that takes one of their tokens is likely to take all. Two
  /// parts may begin with the same bytes.
  struct Part {
    Text text = Text::kOther;
    std::uint32_t begin = 0, end = 0;  // nodes
    TokenRange tokens = {};
    Below below = {};
    std::vector<MaskWord> bits = {};                                 // the mask of its tokens
    std::vector<std::pair<std::uint8_t, std::uint32_t>> first = {};  // the subtrees: bytes and nodes
  };
  static constexpr std::size_t kNumParts = 5;
  static constexpr std::size_t kFewBytes = 8, kMoreBytes = 24;
  static constexpr std::uint8_t kMostDepth = 255;
  static constexpr std::uint32_t kRoot = 0;

  /// Makes the tree of the bytes of each token, by id. A token without bytes is not in the tree.
  explicit TokenTrie(std::span<const std::string_view> tokens);

  const Node& at(std::uint32_t node) const { return nodes_[node]; }
  /// The tokens that end in this node.
  TokenRange tokens_at(std::uint32_t node) const { return {nodes_[node].first_token, nodes_[node + 1].first_token}; }
  /// The tokens that end in this node or below it.
  TokenRange tokens_from(std::uint32_t node) const {
    return {nodes_[node].first_token, nodes_[nodes_[node].end].first_token};
  }
  const Below& below(std::uint32_t node) const { return below_[node]; }
  /// All tokens in the order of the nodes: tokens of a node and of those below it stand together.
  std::span<const TokenId> tokens() const { return tokens_; }
  std::span<const Part, kNumParts> parts() const { return parts_; }
  /// Bits of the tokens of plain text with at most `num_characters` characters, one that is cut at its end included.
  /// More than kMoreBytes: of any number.
  std::span<const MaskWord> plain_bits(std::size_t num_characters) const {
    return plain_bits_[std::min(num_characters, kMoreBytes + 1)];
  }
  std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }

 private:
  void add_nodes(std::span<const std::string_view> tokens, std::uint32_t begin, std::uint32_t end);
  void find_below();
  void add_child(Below& below, std::uint32_t child) const;
  void fill_parts(std::size_t num_tokens);
  void fill_plain_bits(std::span<const std::string_view> tokens);

  std::vector<Node> nodes_;      // the nodes, and one behind the last
  std::vector<Below> below_;     // [nodes]
  std::vector<TokenId> tokens_;  // ordered by part and bytes
  std::array<Part, kNumParts> parts_ = {};
  std::array<std::vector<MaskWord>, kMoreBytes + 2> plain_bits_ = {};  // [characters]
};

}  // namespace octavo
