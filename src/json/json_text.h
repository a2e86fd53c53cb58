// Turns JSON into a TemplateValue, and back. Free functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "json/json_limits.h"
#include "octavo/chat.h"
#include "octavo/result.h"

namespace octavo {

/// A JSON text as a value. `values_left` shrinks by the values and members that it has; no more than these are built.
/// Integers beyond 64 bits become doubles. Nothing is hashed, so no choice of keys takes longer than another. Errors
/// say what was found, with the byte.
Result<TemplateValue> read_json(std::string_view text, std::size_t& values_left);
/// The same of an object, as a TemplateDict. Error: it is none.
Result<TemplateValue> read_json_object(std::string_view text, std::size_t& values_left);

/// As Python's json.dumps(value, ensure_ascii=False) writes it.
std::string write_json(const TemplateValue& value);

}  // namespace octavo
