// A mistake in a JSON text, or in a value of it, in the words of whoever wrote it.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace octavo {

struct JsonError {
  std::string path = {};       // of the value, as it is written: "messages[2].content"; empty: the whole text
  std::string message = {};    // what was found and expected; begins with the path
  std::string_view code = {};  // a literal: "invalid_json", "invalid_type", "invalid_value", "too_deep", ...
};

template <class T>
using JsonResult = std::expected<T, JsonError>;

}  // namespace octavo
