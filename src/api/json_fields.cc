#include "api/json_fields.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <utility>

namespace octavo {

ApiError invalid_type(std::string param, std::string_view expected, const boost::json::value& found) {
  std::string message = fmt::format("{}: found {}, expected {}", param, describe_json(found), expected);
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "invalid_type"};
}

ApiError invalid_value(std::string param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "invalid_value"};
}

ApiError unsupported(std::string param, std::string message) {
  return {.status = 400, .message = std::move(message), .param = std::move(param), .code = "unsupported_parameter"};
}

}  // namespace octavo
