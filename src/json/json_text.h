// Turns JSON into a TemplateValue, and back. Free functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "json/json_limits.h"
#include "octavo/chat.h"
#include "octavo/result.h"

namespace octavo {

/// The value of a JSON text. `values_left` shrinks by the values and members of the text, and no more of them are
/// built. Integers beyond 64 bits become doubles. Nothing is hashed, so no choice of keys takes longer than another.
/// Errors say what was found, with the byte.
Result<TemplateValue> read_json(std::string_view text, std::size_t& values_left);
/// The TemplateDict of an object's text. Error: the text is no object.
Result<TemplateValue> read_json_object(std::string_view text, std::size_t& values_left);

/// The text that Python's json.dumps(value, ensure_ascii=False) writes.
std::string write_json(const TemplateValue& value);

}  // namespace octavo
