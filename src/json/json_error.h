// A mistake in a JSON text, or in a value of it, in the words of the text's writer.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "octavo/result.h"

namespace octavo {

struct JsonError {
  std::string path = {};       // the place of the value, as "messages[2].content"; empty: the whole text
  std::string message = {};    // the finding and the expectation, behind the path
  std::string_view code = {};  // a literal: "invalid_json", "invalid_type", "invalid_value", "too_deep", ...
};

template <class T>
using JsonResult = std::expected<T, JsonError>;

/// The value, or the mistake in a file's words.
template <class T>
Result<T> to_result(JsonResult<T> read) {
  if (!read) return std::unexpected(Error{.message = std::move(read.error().message)});
  return std::move(*read);
}

}  // namespace octavo
