// The kinds of characters that ASCII has, in any locale, and texts without the white space around them.
#pragma once

#include <algorithm>
#include <string_view>

namespace octavo {

/// White space as JSON has it.
inline constexpr std::string_view kWhiteSpace = " \t\r\n";

/// `c` is a byte or a code point.
constexpr bool is_white_space(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter_or_digit(char c) { return is_digit(c) || is_capital(c) || (c >= 'a' && c <= 'z'); }

/// The small letter of a capital one; other characters stay as they are.
constexpr char lower(char c) { return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c; }

/// The text without the `blanks` in front of it, behind it, or around it.
constexpr std::string_view without_leading(std::string_view text, std::string_view blanks = kWhiteSpace) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}
constexpr std::string_view without_trailing(std::string_view text, std::string_view blanks = kWhiteSpace) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = kWhiteSpace) {
  return without_leading(without_trailing(text, blanks), blanks);
}

}  // namespace octavo
