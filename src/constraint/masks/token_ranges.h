// Tokens of a vocabulary's tree as ranges of their places in its order.
//
// A walk over the tree finds them ascending, and most next to each other. A plain value of one thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "constraint/trie/token_bits.h"
#include "constraint/trie/token_trie.h"

namespace octavo {

class TokenRanges {
 public:
  using Range = TokenTrie::TokenRange;

  void clear() { ranges_.clear(); }
  void take(Range tokens) {
    if (tokens.size() == 0) return;
    if (!ranges_.empty() && ranges_.back().end == tokens.begin) {
      ranges_.back().end = tokens.end;
    } else {
      ranges_.push_back(tokens);
    }
  }
  void take(const TokenRanges& others) { ranges_.insert(ranges_.end(), others.ranges_.begin(), others.ranges_.end()); }
  /// Makes ranges ascend without overlaps. The functions below want ordered ranges.
  void order();

  bool holds(Range tokens) const;
  std::size_t num_tokens() const;
  std::size_t num_bytes() const { return ranges_.capacity() * sizeof(Range); }
  std::span<const Range> all() const { return ranges_; }
  /// Sets the bits of the ranges in a mask that has none of them.
  void set_bits(const TokenTrie& trie, std::span<MaskWord> mask) const;

 private:
  std::vector<Range> within(Range bounds) const;

  std::vector<Range> ranges_;
};

}  // namespace octavo
