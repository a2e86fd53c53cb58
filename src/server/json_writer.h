// Appends JSON text to a string: what is sent once a token is written directly, without a tree of values.
//
// Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace octavo::server {

/// A string with its quotes. `text` is valid UTF-8; control characters, quotes and backslashes are escaped.
void append_json_string(std::string& out, std::string_view text);

/// Bytes of the same.
std::size_t json_string_bytes(std::string_view text);

/// A part of a string, without quotes.
void append_json_escaped(std::string& out, std::string_view text);

/// `"name":` and the string.
void append_json_field(std::string& out, std::string_view name, std::string_view text);

/// The shortest number that reads back as `logprob`; -9999 for all below it and for NaN, as OpenAI writes what is too
/// unlikely to say.
void append_json_logprob(std::string& out, float logprob);

/// `,"warnings":["a","b"]`, as answers have it; nothing where there are none.
void append_warnings(std::string& out, std::span<const std::string> warnings);

/// [1,2,3]
void append_json_ids(std::string& out, std::span<const std::int32_t> ids);

}  // namespace octavo::server
