// UTF-8: inputs may be any bytes, outputs are whole characters.
//
// Free functions without state, callable from any thread. Well-formed means Unicode 15, table 3-7 (no overlong forms,
// no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

/// Appends the UTF-8 of `code_point`, at most 0x10FFFF; a surrogate becomes three bytes.
void append_utf8(std::string& out, std::uint32_t code_point);

/// The code point at the start of `text`, whose first character is whole; a surrogate's three bytes give the surrogate.
std::uint32_t decode_utf8(std::string_view text);

/// The number of bytes that a lead byte announces, 1 to 4; 1 for any other byte.
std::size_t utf8_announced_length(char lead);

/// A step over the beginning of some bytes: a character, or a part of one.
struct Utf8Step {
  enum class Kind : std::uint8_t {
    kCharacter,   // a well-formed character
    kIllFormed,   // a maximal subpart of an ill-formed sequence: it becomes one U+FFFD
    kIncomplete,  // the bytes end inside a sequence that may still become a character
  };
  Kind kind;
  std::size_t length;  // the bytes that it covers, at least 1
};

/// Reads one step from `bytes`, which is not empty (Unicode 15, section 3.9, "substitution of maximal subparts").
Utf8Step next_utf8_step(std::string_view bytes);

/// The text as valid UTF-8: each maximal ill-formed part, also a character that the end cuts, becomes U+FFFD.
std::string to_valid_utf8(std::string_view bytes);

/// Text for a byte-level BPE vocabulary, in which every byte is part of a character.
struct RepairedText {
  std::string text;
  bool has_surrogates = false;  // `text` holds three-byte forms of U+D800 to U+DFFF
};

/// Makes characters of any bytes the way llama.cpp does, so that ids agree on broken text. A lead byte followed by as
/// many continuation bytes as it announces is a character, be it overlong (written back in its shortest form) or a
/// surrogate (kept). Any other byte becomes U+FFFD. Beyond U+10FFFF llama.cpp ends the process; here the lead byte is
/// one of the "other" ones.
RepairedText repair_utf8(std::string_view bytes);

}  // namespace octavo
