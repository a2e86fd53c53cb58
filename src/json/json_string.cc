#include "json/json_string.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/float_repr.h"

namespace octavo {
namespace {

/// The letter of a short escape; 0: the character has none.
constexpr char short_escape(std::uint32_t code_point) {
  switch (code_point) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
  }
}

}  // namespace

void append_json_escape(std::string& out, std::uint32_t code_point) {
  if (const char letter = short_escape(code_point)) {
    out += '\\';
    out += letter;
  } else if (code_point < 0x10000) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_point);
  } else {
    const std::uint32_t above = code_point - 0x10000;
    fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xD800 | above >> 10, 0xDC00 | (above & 0x3FF));
  }
}

void append_json_byte(std::string& out, char c) {
  if (needs_json_escape(c)) {
    append_json_escape(out, static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

void append_json_escaped(std::string& out, std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!needs_json_escape(text[i])) continue;
    out.append(text, begin, i - begin);
    append_json_escape(out, static_cast<unsigned char>(text[i]));
    begin = i + 1;
  }
  out.append(text, begin);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string string;
  append_json_string(string, text);
  return string;
}

std::size_t json_string_bytes(std::string_view text) {
  constexpr std::size_t kShortBytes = 1, kLongBytes = 5;  // the bytes that an escape adds to the character's own byte
  std::size_t num_bytes = text.size() + 2;
  for (const char c : text)
    if (needs_json_escape(c)) num_bytes += short_escape(static_cast<unsigned char>(c)) != 0 ? kShortBytes : kLongBytes;
  return num_bytes;
}

std::string json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_repr(value);
}

}  // namespace octavo
