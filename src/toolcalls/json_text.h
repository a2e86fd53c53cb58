// Texts out of JSON and of Python.
//
// Free functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo {

/// The text of a string that json_type_of() knows as one. Half of a surrogate pair becomes U+FFFD.
std::string text_of_json(std::string_view string);

/// The JSON of Python's True, False and None; empty for any other word.
std::optional<std::string_view> json_of_python_word(std::string_view word);

}  // namespace octavo
