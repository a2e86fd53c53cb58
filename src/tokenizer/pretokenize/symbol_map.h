// Symbols: the classes of characters that the patterns of a pre-tokenizer distinguish.
//
// Two code points that lie in the same sets of all patterns are one symbol, so that an automaton has a few dozen
// columns in place of 1.1 million, and looks at bytes. Owned by the PreTokenizer; immutable, any thread.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/text/code_point_set.h"
#include "tokenizer/text/regex_parser.h"

namespace octavo {

class SymbolMap {
 public:
  /// The symbol of the second and later bytes of a character, which change nothing.
  static constexpr std::uint8_t kContinuation = 0;

  /// Makes the map. Error: the patterns distinguish more than 255 classes of characters.
  static Result<SymbolMap> create(std::span<const RegexNode> patterns);

  std::size_t num_symbols() const { return num_symbols_; }
  std::uint8_t symbol(std::uint32_t code_point) const {
    return pages_[page_begin_[code_point >> 8] + (code_point & 0xFF)];
  }
  /// The symbols of `set`, one of the patterns' sets.
  std::bitset<256> symbols_of(const CodePointSet& set) const;

  /// Sets symbols[i] to the symbol of the character that begins at text[i]. `text` consists of whole characters.
  void translate(std::string_view text, std::vector<std::uint8_t>& symbols) const;
  /// Sets symbols[i] to the symbol of the character that stands for the byte text[i] in byte-level BPE's alphabet.
  void translate_bytes(std::string_view text, std::vector<std::uint8_t>& symbols) const;

 private:
  static constexpr std::size_t kNumPages = CodePointSet::kLimit / 256;

  SymbolMap() = default;
  void fill(std::span<const std::uint8_t> symbols);

  std::size_t num_symbols_ = 1;                // kContinuation included
  std::vector<std::uint32_t> representative_;  // [num_symbols] a code point of each
  std::array<std::uint32_t, kNumPages> page_begin_{};
  std::vector<std::uint8_t> pages_;  // distinct pages of 256 code points
  std::array<std::uint8_t, 256> byte_symbols_{};
};

}  // namespace octavo
