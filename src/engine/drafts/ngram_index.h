// Finds where a text had the same last tokens before: an index of the text's n-grams, each with its latest position.
//
// Every n-gram of a few lengths has one entry in a table of fixed size; another n-gram may overwrite it. What is found
// is compared with the text, so that a lost or wrong entry may cost a match and never makes one. Adding and finding a
// token take constant work. One thread at a time may call it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "octavo/kv/types.h"

namespace octavo {

class NgramIndex {
 public:
  /// The lengths of n-grams. The longest one found counts.
  static constexpr std::array<int, 3> kLengths = {8, 4, 2};
  /// The most tokens of a match that are compared.
  static constexpr int kMostCompared = 32;

  /// A position in the text whose preceding tokens are those that were looked for.
  struct Match {
    int at = -1;     // the position after the match; -1: there is none
    int length = 0;  // how many tokens before it agree, at most kMostCompared
  };

  /// How many tokens at the ends of `a` and `b` agree, at most kMostCompared.
  static int common_end(std::span<const TokenId> a, std::span<const TokenId> b);

  /// Makes room for `num_entries` n-grams of each length, a power of two.
  explicit NgramIndex(std::size_t num_entries) : tables_(kLengths.size() * num_entries), num_entries_(num_entries) {}

  /// Forgets everything and keeps the memory. At most `num_tokens` tokens will be added, for which a part
  /// of the tables may do.
  void clear(std::size_t num_tokens);
  /// Adds the n-grams of a text that has grown, as far as a token follows them; at most `most` tokens in a call.
  void follow(std::span<const TokenId> text, int most);
  /// The latest position in `text`, which was followed, that comes after the last tokens of `context`.
  Match find(std::span<const TokenId> text, std::span<const TokenId> context) const;

 private:
  std::size_t entry_of(std::size_t length, std::span<const TokenId> ngram) const;

  std::vector<std::uint32_t> tables_;       // [lengths][entries in use] positions after n-grams; 0: none
  std::size_t num_entries_, num_used_ = 0;  // entries of a table, and how many are used
  int num_followed_ = 0;                    // the positions that were added
};

}  // namespace octavo
