// How few tokens a text can become, from the lengths of a vocabulary's tokens alone: a text that is too long for a
// context is refused by this before it is cut into words and merged, which takes a hundred times as long.
// Owned by the Tokenizer; immutable, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "tokenizer/vocab.h"

namespace octavo {

class TokenBound {
 public:
  /// `silent`: bytes that give no token; none in an SPM vocabulary.
  TokenBound(const Vocab& vocab, const std::array<bool, 256>& silent);

  /// Bytes of text that one token can stand for, at most. Text is in the form that tokens are looked up in: with spaces
  /// as U+2581 in an SPM vocabulary, repaired in one of byte-level BPE.
  std::size_t longest() const { return longest_; }
  /// Bytes of `text` that are part of a token.
  std::size_t num_spoken(std::string_view text) const;
  /// `text` is more than `max_tokens` tokens for certain. Looks no further than so many tokens can reach.
  bool exceeds(std::string_view text, std::size_t max_tokens) const;

 private:
  void add(std::string_view token);

  std::array<bool, 256> silent_;
  std::array<std::size_t, 256> longest_with_{};  // of the tokens that begin with the byte, at least 1
  std::size_t longest_ = 1;
};

}  // namespace octavo
