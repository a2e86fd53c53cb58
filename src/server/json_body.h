// A request's body as JSON. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "server/api_error.h"

namespace octavo::server {

/// Error 400: no JSON (with the place), nested deeper than `max_depth`, or no object.
ApiResult<boost::json::object> parse_json_object(std::string_view text, std::size_t max_depth);

}  // namespace octavo::server
