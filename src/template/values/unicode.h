// Characters as Python's str methods see them: which are spaces, letters and digits, and their other case.
//
// Properties come from utf8proc, whole-string mappings (ß becomes SS) from Unicode's SpecialCasing.txt.
#pragma once

#include <cstdint>

#include "template/values/text.h"

namespace octavo::jinja {

bool is_space(std::uint32_t code_point);
bool is_printable(std::uint32_t code_point);
bool is_letter(std::uint32_t code_point);
bool is_decimal(std::uint32_t code_point);
/// Whether a character is a decimal digit, a superscript or the like.
bool is_digit(std::uint32_t code_point);
bool is_numeric(std::uint32_t code_point);
bool is_lower(std::uint32_t code_point);
bool is_upper(std::uint32_t code_point);
bool is_title(std::uint32_t code_point);
bool is_word(std::uint32_t code_point);  // Whether a character is \w of a regular expression.

enum class Case : std::uint8_t { kLower, kUpper, kTitle };

/// Appends the characters [begin, end) of a text in another case. Whether a capital sigma ends a word is decided by
/// these characters alone, or with `within_text` by the whole text.
void append_in_case(TextBuilder& out, const Text& text, std::size_t begin, std::size_t end, Case wanted,
                    bool within_text = false);

}  // namespace octavo::jinja
