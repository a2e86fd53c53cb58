// Reads the fields of a JSON object that a client sent: types and ranges are checked, the first mistake is kept.
//
// Fields that are absent and fields that are null count as not given. One reader serves one object on one thread; the
// object outlives it. After the first mistake every call gives its default, so that a parser reads all that it wants
// and asks once at the end.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace octavo::server {

/// A 400 about one field, with the codes that OpenAI uses.
ApiError invalid_type(std::string param, std::string_view expected, const boost::json::value& found);
ApiError invalid_value(std::string param, std::string message);
ApiError unsupported(std::string param, std::string message);

/// A value as a message shows it: "the string \"abc\"", "the number 3", "an array of 2".
std::string describe(const boost::json::value& value);

/// An integer that JSON spells as one, or as a number without a fraction (5.0); nothing for all else.
std::optional<std::int64_t> as_integer(const boost::json::value& value);

class JsonFields {
 public:
  /// `path` stands before the names in errors: "stream_options.", "messages[2]."; empty at the top.
  explicit JsonFields(const boost::json::object& object, std::string path = {})
      : object_(object), path_(std::move(path)) {}

  /// The value, if it is given and not null.
  const boost::json::value* find(std::string_view name) const;
  std::string path_of(std::string_view name) const { return path_ + std::string(name); }

  bool boolean(std::string_view name, bool otherwise);
  /// min <= value <= max; the error says so.
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  int integer(std::string_view name, int otherwise, int min, int max);
  /// An integer of at least `min`; one that 64 bits do not hold is the largest that they do.
  std::optional<std::int64_t> integer_from(std::string_view name, std::int64_t min);
  std::optional<double> number(std::string_view name, double min, double max);
  float number(std::string_view name, float otherwise, float min, float max);
  std::optional<std::string_view> string(std::string_view name);
  /// The same of a field that must be there.
  ApiResult<std::string_view> needed_string(std::string_view name);
  const boost::json::object* object(std::string_view name);

  /// Keeps the first.
  void refuse(ApiError error) {
    if (!error_) error_ = std::move(error);
  }
  bool failed() const { return error_.has_value(); }
  const std::optional<ApiError>& error() const { return error_; }

 private:
  const boost::json::object& object_;
  std::string path_;
  std::optional<ApiError> error_;
};

}  // namespace octavo::server
