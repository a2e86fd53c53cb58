// Fields of a chat completion that an API has under another name: bodies of other APIs are read as chats, and an error
// must name the field that the client sent.
//
// Free functions without state; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"

namespace octavo {

struct OwnFieldName {
  std::string_view chat;  // "stop", "response_format.json_schema.schema"
  std::string_view own;   // "stop_sequences"
};

/// The error with the first of these names that its field begins with in place of the chat's: in its param, and where
/// its message begins with the field. `names`: the longer before the shorter.
ApiError with_own_names(ApiError error, std::span<const OwnFieldName> names);
/// The same of warnings, each of which may begin with a field.
std::vector<std::string> with_own_names(std::vector<std::string> warnings, std::span<const OwnFieldName> names);

}  // namespace octavo
