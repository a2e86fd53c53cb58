// Finds special tokens (control and user-defined ones) written in text.
//
// Where tokens overlap, one of two rules decides. llama.cpp takes the longer token, wherever it stands; between equal
// lengths the lower id, then the left one (it searches the whole text for one token after another, longest first).
// `tokenizers` takes the token that begins first, and the longest of these. One pass with a trie finds the candidates,
// so that time does not grow with the number of special tokens. The Tokenizer owns it; immutable, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "octavo/model_text.h"

namespace octavo {

/// A piece of text: a special token, or bytes to be tokenized.
struct Fragment {
  TokenId token;          // the token; -1: `text` is to be tokenized
  std::string_view text;  // not empty
};

/// The rule by which one of several overlapping tokens wins.
enum class Overlap : std::uint8_t { kLongestWins, kFirstWins };

class SpecialTokens {
 public:
  /// The most bytes that are compared at each place of a text. Real vocabularies have tokens of about 100 bytes;
  /// without a bound one long token of a file would make time grow with the text times its length.
  static constexpr std::size_t kMaxBytes = 256;

  SpecialTokens() = default;
  explicit SpecialTokens(Overlap overlap) : overlap_(overlap) {}

  /// Adds a token; `text` is not empty. A token of more than kMaxBytes is never found.
  void add(std::string_view text, TokenId id);
  /// Adds a text that is tokenized like any other, and within which no token is found. Only kFirstWins takes it.
  void add_plain(std::string_view text) { add(text, kPlain); }
  bool is_empty() const { return nodes_.size() == 1; }

  /// Cuts `text` into fragments, in order. Fragments point into `text`.
  std::vector<Fragment> split(std::string_view text) const;

 private:
  static constexpr TokenId kNone = -1, kPlain = -2;

  struct Node {
    std::uint8_t byte;
    TokenId token = kNone;          // the token whose text ends at this node
    std::uint32_t first_child = 0;  // 0: no child, as the root is nobody's child
    std::uint32_t next_sibling = 0;
  };
  /// A token found at `begin`.
  struct Match {
    std::size_t begin;
    std::size_t length;
    TokenId token;
  };

  /// The order in which llama.cpp looks for tokens: the longest first, then the lowest id.
  static std::uint32_t rank_of(const Match& match);
  static Match match_of(std::uint32_t rank, std::size_t begin);
  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const;
  /// The longest token at `begin` that is shorter than `below`; length 0: there is none.
  Match longest_match(std::string_view text, std::size_t begin, std::size_t below) const;
  /// The matches without overlaps, in the order of their beginnings.
  std::vector<Match> resolve(std::string_view text) const;
  std::vector<Match> find_first(std::string_view text) const;

  Overlap overlap_ = Overlap::kLongestWins;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::array<bool, 256> starts_{};  // [bytes] whether a token begins with the byte
};

}  // namespace octavo
