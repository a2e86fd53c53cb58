// Copies the tokens of words that came before in the same text. The memory has a fixed size and serves one call;
// nothing is remembered from text to text.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "octavo/token.h"

namespace octavo {

class RepeatedWords {
 public:
  /// Words are parts of `text`; tokens are appended to `out`.
  RepeatedWords(std::string_view text, std::vector<TokenId>& out) : text_(text), out_(out) {}

  /// Appends the tokens of the word text[begin .. begin + length): those of the same word before it, or else those that
  /// encode(word) appends.
  template <class Encode>
  void append(std::size_t begin, std::size_t length, Encode encode) {
    const std::string_view word = text_.substr(begin, length);
    Entry& entry = entries_[std::hash<std::string_view>()(word) % entries_.size()];
    if (entry.length > 0 && text_.substr(entry.begin, entry.length) == word) {
      copy(entry);
      return;
    }
    const std::size_t tokens_begin = out_.size();
    encode(word);
    entry = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length), tokens_begin, out_.size()};
  }

 private:
  struct Entry {
    std::uint32_t begin = 0;                       // the place in the text
    std::uint32_t length = 0;                      // 0: there is no word yet
    std::size_t tokens_begin = 0, tokens_end = 0;  // in out
  };

  void copy(const Entry& entry);

  std::string_view text_;
  std::vector<TokenId>& out_;
  std::array<Entry, 2048> entries_{};
};

}  // namespace octavo
