// Texts and numbers as JSON writes them. Everything that Octavo writes as JSON without a tree of values, answers of the
// server, arguments of calls, prompts and grammars, takes its escapes from here.
//
// Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

/// Whether a byte needs an escape in a JSON string. Bytes beyond ASCII do not.
constexpr bool needs_json_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

/// The escape of a character, the short one where JSON has such; two of \uXXXX beyond U+FFFF.
void append_json_escape(std::string& out, std::uint32_t code_point);
/// A byte of UTF-8 as it stands within a string.
void append_json_byte(std::string& out, char c);
/// A part of a string, without quotes. `text` is UTF-8, with perhaps a part of a character at each end.
void append_json_escaped(std::string& out, std::string_view text);
/// A string with its quotes.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);
/// The number of bytes of json_string().
std::size_t json_string_bytes(std::string_view text);

/// A number as Python's json.dumps() writes it, which has NaN and Infinity.
std::string json_number(double value);

}  // namespace octavo
