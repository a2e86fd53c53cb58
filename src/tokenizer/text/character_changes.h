// Changes of single characters before a text is cut: those of BertNormalizer, StripAccents and Lowercase of
// `tokenizers`, with their tables of characters (bert_characters.inc). Free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

enum class CharacterChange : std::uint8_t {
  kClean,            // leaves out control characters and U+FFFD, writes white space as spaces
  kSetHanApart,      // puts spaces around Chinese characters
  kLeaveOutAccents,  // leaves out the marks that BertNormalizer removes from a text in NFD
  kLeaveOutMarks,    // leaves out the marks that StripAccents removes
  kLowerCase,        // makes capital letters small, each by itself
};

/// Sets `out` to the changed text. The text consists of whole characters.
void change_characters(std::string_view text, CharacterChange change, std::string& out);

}  // namespace octavo
