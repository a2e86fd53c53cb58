// Text as JSON strings have it.
//
// Free functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo {

/// Appends a byte of UTF-8 as it stands in a string.
void append_json_byte(std::string& out, char c);
/// A string with its quotes.
void append_json_text(std::string& out, std::string_view text);
/// The text of a string that json_type_of() takes for one. Half of a surrogate pair becomes U+FFFD.
std::string text_of_json(std::string_view string);

/// True, False and None, as Python writes them, in JSON; nothing for any other word.
std::optional<std::string_view> json_of_python_word(std::string_view word);

}  // namespace octavo
