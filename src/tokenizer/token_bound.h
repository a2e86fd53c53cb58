// The fewest tokens that a text can become, judged only by the lengths of a vocabulary's tokens. It refuses a text that
// is too long for a context, because cutting and merging the text would take a hundred times as long.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "tokenizer/words/vocab.h"

namespace octavo {

class TokenBound {
 public:
  /// Makes the bound. `silent` marks bytes that give no token; an SPM vocabulary has none.
  TokenBound(const Vocab& vocab, const std::array<bool, 256>& silent);

  /// The most bytes of text for which one token can stand. Text has the form in which tokens are looked up: with spaces
  /// as U+2581 in an SPM vocabulary, repaired in one of byte-level BPE.
  std::size_t longest() const { return longest_; }
  /// The number of bytes of `text` that are not silent.
  std::size_t num_spoken(std::string_view text) const;
  /// Whether `text` surely has more than `max_tokens` tokens. It reads no further than so many tokens can reach.
  bool exceeds(std::string_view text, std::size_t max_tokens) const;

 private:
  void add(std::string_view token);

  std::array<bool, 256> silent_;
  std::array<std::size_t, 256> longest_with_{};  // [bytes] the longest token that begins with the byte, at least 1
  std::size_t longest_ = 1;
};

}  // namespace octavo
