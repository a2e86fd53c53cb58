#include "server/json_fields.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <limits>
#include <utility>

namespace octavo::server {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxShownBytes = 60;
constexpr double kLargestExact = 9007199254740992.0;  // 2^53: up to here a double names one integer

/// At most kMaxShownBytes of `text`, cut between characters.
std::string shorten(std::string_view text) {
  if (text.size() <= kMaxShownBytes) return std::string(text);
  std::size_t end = kMaxShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace

ApiError invalid_type(std::string param, std::string_view expected, const json::value& found) {
  std::string message = fmt::format("{}: found {}, expected {}", param, describe(found), expected);
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "invalid_type"};
}

ApiError invalid_value(std::string param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "invalid_value"};
}

ApiError unsupported(std::string param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "unsupported_parameter"};
}

std::string describe(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return value.get_bool() ? "true" : "false";
    case json::kind::int64:
    case json::kind::uint64: return "the number " + json::serialize(value);
    case json::kind::double_: return fmt::format("the number {}", value.get_double());
    case json::kind::string: return "the string " + json::serialize(json::value(shorten(value.get_string())));
    case json::kind::array: return fmt::format("an array of {}", value.get_array().size());
    case json::kind::object: return "an object";
  }
  return "a value";
}

std::optional<std::int64_t> as_integer(const json::value& value) {
  if (const std::int64_t* integer = value.if_int64()) return *integer;
  if (const double* number = value.if_double()) {
    if (std::abs(*number) <= kLargestExact && std::trunc(*number) == *number) return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;  // also of what int64 cannot hold
}

const json::value* JsonFields::find(std::string_view name) const {
  const json::value* value = object_.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool JsonFields::boolean(std::string_view name, bool otherwise) {
  const json::value* value = find(name);
  if (value == nullptr) return otherwise;
  if (const bool* given = value->if_bool()) return *given;
  refuse(invalid_type(path_of(name), "true or false", *value));
  return otherwise;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name, std::int64_t min, std::int64_t max) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> given = as_integer(*value);
  if (given && *given >= min && *given <= max) return given;
  const std::string expected = max == std::numeric_limits<std::int64_t>::max()
                                   ? fmt::format("an integer of at least {}", min)
                                   : fmt::format("an integer from {} to {}", min, max);
  ApiError error = invalid_type(path_of(name), expected, *value);
  if (value->is_number()) error.code = "invalid_value";
  refuse(std::move(error));
  return std::nullopt;
}

std::optional<std::int64_t> JsonFields::integer_from(std::string_view name, std::int64_t min) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const json::value* value = find(name);
  const double* number = value == nullptr ? nullptr : value->if_double();
  const bool is_beyond = value != nullptr && (value->is_uint64() || (number != nullptr && *number > kLargestExact));
  return is_beyond ? std::optional(kMax) : integer(name, min, kMax);
}

int JsonFields::integer(std::string_view name, int otherwise, int min, int max) {
  return static_cast<int>(integer(name, std::int64_t{min}, std::int64_t{max}).value_or(otherwise));
}

std::optional<double> JsonFields::number(std::string_view name, double min, double max) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto given = value->to_number<double>();
    if (given >= min && given <= max) return given;
  }
  ApiError error = invalid_type(path_of(name), fmt::format("a number from {} to {}", min, max), *value);
  if (value->is_number()) error.code = "invalid_value";
  refuse(std::move(error));
  return std::nullopt;
}

float JsonFields::number(std::string_view name, float otherwise, float min, float max) {
  const std::optional<double> given = number(name, static_cast<double>(min), static_cast<double>(max));
  return given ? static_cast<float>(*given) : otherwise;
}

std::optional<std::string_view> JsonFields::string(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const json::string* given = value->if_string()) return std::string_view(*given);
  refuse(invalid_type(path_of(name), "a string", *value));
  return std::nullopt;
}

ApiResult<std::string_view> JsonFields::needed_string(std::string_view name) {
  const auto text = string(name);
  if (error_) return std::unexpected(*error_);
  if (text) return *text;
  return std::unexpected(invalid_value(path_of(name), path_of(name) + ": found none, expected a string"));
}

const json::object* JsonFields::object(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (const json::object* given = value->if_object()) return given;
  refuse(invalid_type(path_of(name), "an object", *value));
  return nullptr;
}

}  // namespace octavo::server
