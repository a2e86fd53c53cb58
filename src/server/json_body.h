// A request's body as JSON, within bounds on the time and the memory that it may cost. Pure; any thread.
//
// Boost.JSON finds a member of an object of more than 18 by a hash whose salt is the table's address. Of that the low
// byte alone counts for keys of equal length: keys that all collide can be made without knowing it, and a table of n of
// them costs n²/2 comparisons. So the members of an object are counted before its table is built, and what stands in
// the body is counted before memory is taken for it.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string_view>

#include "server/api_error.h"

namespace octavo::server {

struct JsonLimits {
  std::size_t max_depth = 32;
  /// Of one object; the largest that a request has a use for is a logit_bias of 1024. With the two bounds below, the
  /// worst body costs 8192 * 1024 / 2 comparisons: eight objects, measured at 3.6 ms each on a Zen 5.
  std::size_t max_members = 1024;
  std::size_t max_table_members = 8192;  // of all objects together that are large enough to have a table
  std::size_t max_key_bytes = 256;       // a comparison takes as long as the keys are
  /// Of the values in memory. A body of token ids takes 3 to 5 times its size; "[[1],[1],...", 24 times.
  std::size_t max_memory_bytes = std::size_t{64} << 20;
};

/// A byte order mark in front is skipped, as some programs write one; halves of characters become U+FFFD.
/// Error 400: no JSON (with the place), no object, or beyond one of the limits, which the message names.
ApiResult<boost::json::object> parse_json_object(std::string_view text, const JsonLimits& limits);

}  // namespace octavo::server
