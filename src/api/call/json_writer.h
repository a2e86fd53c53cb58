// Parts of answers as JSON, appended to a string: what is sent once a token is written without a tree of values.
//
// Free functions without state; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "json/json_string.h"

namespace octavo {

/// `"name":` and the string. `text` is valid UTF-8.
void append_json_field(std::string& out, std::string_view name, std::string_view text);

/// The shortest number that reads back as `logprob`; -9999 for all below it and for NaN, as OpenAI writes what is too
/// unlikely to say.
void append_json_logprob(std::string& out, float logprob);

/// `,"warnings":["a","b"]`, as answers have it; nothing where there are none.
void append_warnings(std::string& out, std::span<const std::string> warnings);

/// [1,2,3]
void append_json_ids(std::string& out, std::span<const std::int32_t> ids);

}  // namespace octavo
