// SentencePiece's table of texts and their replacements, by which it normalizes, as `tokenizers` uses it.
//
// The table (precompiled_charsmap) is a double array of Darts-clone, in which the texts are a trie, and the
// replacements one behind another with a zero behind each. It is read whole, with bounds on everything, when it is
// loaded; a text is then looked up in a trie of our own. `tokenizers` looks at user-perceived characters (Unicode's
// Annex 29): one of less than 6 bytes becomes the replacement of the shortest text that it begins with, all of it; in a
// longer one each code point does. Immutable once made; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/words/text_trie.h"

namespace octavo {

class PrecompiledCharsmap {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{2} << 20;  // the largest known one has a quarter of a megabyte
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 18;  // the number of distinct beginnings of texts
  static constexpr std::size_t kMaxTextBytes = 64;                // the longest text that is replaced
  static constexpr std::size_t kMaxReplacementBytes = 256;

  /// Reads a table. Errors say what was found: more bytes than kMaxBytes; no double array of the size that it says;
  /// texts that are too long or too many; a replacement that is too long, beyond the end or no UTF-8.
  static Result<PrecompiledCharsmap> parse(std::string_view bytes);

  std::size_t num_texts() const { return replacements_.size(); }
  /// The most bytes that a byte of text may become.
  std::size_t max_growth() const { return max_growth_; }

  /// Sets `out` to the text with its replacements. The text consists of whole characters.
  void apply(std::string_view text, std::string& out) const;

 private:
  struct Replacement {
    std::uint32_t begin, length;  // in replaced_
  };

  PrecompiledCharsmap() = default;
  /// The number of the shortest text with which `part` begins; -1: there is none.
  std::int32_t find(std::string_view part) const;
  void append(std::string_view grapheme, std::string& out) const;

  TextTrie trie_;                          // the texts; their numbers are indexes into replacements_
  std::string replaced_;                   // all replacements
  std::vector<Replacement> replacements_;  // [texts]
  std::size_t max_growth_ = 1;
};

}  // namespace octavo
