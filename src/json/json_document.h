// A JSON text as Boost.JSON's values, within bounds on the time and the memory that it may cost. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "json/json_error.h"
#include "json/json_limits.h"

namespace octavo {

/// Reads a text. A byte order mark in front is skipped; halves of characters become U+FFFD. Errors: no JSON (with the
/// place), no object, or beyond one of the limits, which the message names.
JsonResult<boost::json::object> parse_json_object(std::string_view text, const JsonLimits& limits);

}  // namespace octavo
