// Finds where a text has had the same last tokens before: the n-grams of a text, each with its latest place.
//
// Every n-gram of a few lengths has one entry in a table of a fixed size; another n-gram may take it. What is found is
// compared with the text, so that a lost or foreign entry costs a match and never makes one. Adding a token and looking
// one up take constant work. One thread at a time may call it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "octavo/kv/types.h"

namespace octavo {

class NgramIndex {
 public:
  /// The lengths of n-grams. The longest that is found counts.
  static constexpr std::array<int, 3> kLengths = {8, 4, 2};
  /// Tokens that a match is compared for.
  static constexpr int kMostCompared = 32;

  /// A place of the text that is preceded by the tokens that somebody looked for.
  struct Match {
    int at = -1;     // the position behind them; -1: there is none
    int length = 0;  // tokens that agree in front of it, at most kMostCompared
  };

  /// Tokens that `a` and `b` end with alike, at most kMostCompared.
  static int common_end(std::span<const TokenId> a, std::span<const TokenId> b);

  /// Room for `num_entries` n-grams of each length, a power of two.
  explicit NgramIndex(std::size_t num_entries) : tables_(kLengths.size() * num_entries), num_entries_(num_entries) {}

  /// Forgets everything; the memory stays. At most `num_tokens` tokens will be added, so that less of the tables is
  /// used.
  void clear(std::size_t num_tokens);
  /// Adds the n-grams of a text that has grown, those that a token follows; at most `most` tokens at a call.
  void follow(std::span<const TokenId> text, int most);
  /// The latest place of `text`, which was followed, behind the last tokens of `context`.
  Match find(std::span<const TokenId> text, std::span<const TokenId> context) const;

 private:
  std::size_t entry_of(std::size_t length, std::span<const TokenId> ngram) const;

  std::vector<std::uint32_t> tables_;       // [lengths][entries in use] positions behind n-grams; 0: none
  std::size_t num_entries_, num_used_ = 0;  // of a table
  int num_followed_ = 0;                    // positions that were added
};

}  // namespace octavo
