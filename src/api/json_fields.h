// Reads the fields of a JSON object that a client sent, of which an API reads many and tells the first mistake.
//
// Types and ranges are checked by the cursor (json/json_cursor.h); a field that is wrong gives its default, so that a
// parser reads all that it wants and asks once at the end. One reader serves one object on one thread; the object
// outlives it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/api_error.h"
#include "json/json_cursor.h"

namespace octavo {

/// A 400 about one field, with the codes that OpenAI uses.
ApiError invalid_type(std::string param, std::string_view expected, const boost::json::value& found);
ApiError invalid_value(std::string param, std::string message);
ApiError unsupported(std::string param, std::string message);

/// A cursor's error for `return` in a function that gives an ApiResult.
inline std::unexpected<ApiError> refused(JsonError error) { return std::unexpected(to_api_error(std::move(error))); }
/// The value that a cursor has read, or its error as an ApiError.
template <class T>
ApiResult<T> to_api_result(JsonResult<T> read) {
  if (read) return std::move(*read);
  return std::unexpected(to_api_error(std::move(read.error())));
}

class JsonFields {
 public:
  explicit JsonFields(const boost::json::object& object) : object_(object) {}

  JsonCursor operator[](std::string_view name) const { return JsonCursor(object_)[name]; }
  /// The value, if it is given and not null.
  const boost::json::value* find(std::string_view name) const { return (*this)[name].value(); }

  /// The value that a cursor has read, an optional or a pointer; nothing where that was a mistake, which is kept.
  template <class T>
  T take(JsonResult<T> read) {
    if (read) return *read;
    refuse(to_api_error(std::move(read.error())));
    return T();
  }

  bool boolean(std::string_view name, bool otherwise) { return take((*this)[name].boolean()).value_or(otherwise); }
  /// min <= value <= max; the error says so.
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max) {
    return take((*this)[name].integer(min, max));
  }
  std::optional<std::string_view> string(std::string_view name) { return take((*this)[name].string()); }
  const boost::json::object* object(std::string_view name) { return take((*this)[name].object()); }

  /// Keeps the first.
  void refuse(ApiError error) {
    if (!error_) error_ = std::move(error);
  }
  void refuse(JsonError error) { refuse(to_api_error(std::move(error))); }
  bool failed() const { return error_.has_value(); }
  const std::optional<ApiError>& error() const { return error_; }

 private:
  const boost::json::object& object_;
  std::optional<ApiError> error_;
};

}  // namespace octavo
