#include "toolcalls/json_text.h"

#include <charconv>
#include <cstdint>

#include "base/utf8.h"

namespace octavo {
namespace {

std::uint32_t hex_of(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

bool is_surrogate(std::uint32_t unit, std::uint32_t first) { return unit >= first && unit < first + 0x400; }

/// Takes the escape \uXXXX whose backslash was taken already, and the second one of a pair; gives the code point.
std::uint32_t take_unit(std::string_view& text) {
  const std::uint32_t unit = hex_of(text.substr(1, 4));
  text.remove_prefix(5);
  if (!is_surrogate(unit, 0xD800)) return is_surrogate(unit, 0xDC00) ? 0xFFFD : unit;
  if (!text.starts_with("\\u")) return 0xFFFD;
  const std::uint32_t second = hex_of(text.substr(2, 4));
  if (!is_surrogate(second, 0xDC00)) return 0xFFFD;
  text.remove_prefix(6);
  return 0x10000 + ((unit - 0xD800) << 10U) + (second - 0xDC00);
}

}  // namespace

std::string text_of_json(std::string_view string) {
  static constexpr std::string_view kLetters = "bfnrt", kMeant = "\b\f\n\r\t";
  std::string text;
  string = string.substr(1, string.size() - 2);
  while (!string.empty()) {
    const char c = string.front();
    string.remove_prefix(1);
    if (c != '\\') {
      text.push_back(c);
    } else if (string.front() == 'u') {
      append_utf8(text, take_unit(string));
    } else {
      const std::size_t known = kLetters.find(string.front());
      text.push_back(known == std::string_view::npos ? string.front() : kMeant[known]);
      string.remove_prefix(1);
    }
  }
  return text;
}

std::optional<std::string_view> json_of_python_word(std::string_view word) {
  if (word == "True") return "true";
  if (word == "False") return "false";
  if (word == "None") return "null";
  return std::nullopt;
}

}  // namespace octavo
