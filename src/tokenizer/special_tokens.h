// Finds special tokens (control and user-defined ones) written in text.
//
// Where they overlap the longer token wins, wherever it stands; between equal lengths the lower id, then the left one.
// That is llama.cpp's order, which searches the whole text for one token after another, longest first. Here one pass
// with a trie finds the candidates, so time does not grow with the number of special tokens.
// Owned by the Tokenizer; immutable, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "octavo/engine.h"

namespace octavo {

/// A piece of text: a special token, or bytes to be tokenized.
struct Fragment {
  TokenId token;          // -1: `text` is to be tokenized
  std::string_view text;  // not empty
};

class SpecialTokens {
 public:
  /// Each place of a text may be compared with so many bytes. Real vocabularies have about 100 at most; without a bound
  /// a file's one long token would make time grow with the text times its length.
  static constexpr std::size_t kMaxBytes = 256;

  /// Adds a token; `text` is not empty. One that is longer than kMaxBytes is never found.
  void add(std::string_view text, TokenId id);

  /// Cuts `text` into fragments, in order. Fragments point into `text`.
  std::vector<Fragment> split(std::string_view text) const;

 private:
  struct Node {
    std::uint8_t byte;
    TokenId token = -1;             // the token that ends here
    std::uint32_t first_child = 0;  // 0: none, as the root is nobody's child
    std::uint32_t next_sibling = 0;
  };
  /// A token found at `begin`.
  struct Match {
    std::size_t begin;
    std::size_t length;
    TokenId token;
  };

  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const;
  /// The longest token at `begin` that is shorter than `below`; length 0 if there is none.
  Match longest_match(std::string_view text, std::size_t begin, std::size_t below) const;
  /// Matches that do not overlap, in the order of their begin.
  std::vector<Match> resolve(std::string_view text) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::array<bool, 256> starts_{};  // bytes that a token begins with
};

}  // namespace octavo
