// Text from a file, which may hold any bytes: tests whether it is UTF-8, forms for messages, and comparisons.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

/// True for well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view text);

/// The text in single quotes: at most 80 bytes, with bytes beyond printable ASCII as \xNN, so that a file cannot put
/// control sequences into a message.
std::string quote(std::string_view text);

/// The most bytes of a name that is shown; real names have a tenth of that.
inline constexpr std::size_t kMaxShownBytes = 256;

/// The text with control characters and bytes that are not UTF-8 as \xNN, for names that people read: at most
/// kMaxShownBytes, then "..." where it was longer.
std::string printable(std::string_view text);

/// The text with ASCII's capital letters made small.
std::string lower_case(std::string_view text);

/// A model's name in the form in which names are compared: lower_case(), with a dash for each space and underscore.
std::string dashed_name(std::string_view name);

}  // namespace octavo
