#include "server/json_body.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace octavo::server {

ApiResult<boost::json::object> parse_json_object(std::string_view text, std::size_t max_depth) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::json::stream_parser parser({}, options);
  boost::system::error_code error;
  const std::size_t used = parser.write(text, error);
  if (!error) parser.finish(error);
  if (error == boost::json::error::too_deep)
    return std::unexpected(ApiError{.status = 400,
                                    .message = fmt::format("the JSON is nested deeper than {} levels", max_depth),
                                    .code = "too_deep"});
  if (error)
    return std::unexpected(ApiError{
        .status = 400,
        .message = fmt::format("the body is no JSON: {} near byte {} of {}", error.message(), used, text.size()),
        .code = "invalid_json"});
  boost::json::value value = parser.release();
  if (!value.is_object())
    return std::unexpected(ApiError{.status = 400, .message = "the body is no JSON object", .code = "invalid_json"});
  return std::move(value.get_object());
}

}  // namespace octavo::server
