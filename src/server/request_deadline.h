// The time limit that a request has in its head: X-Request-Timeout, in seconds.
//
// Free functions without state; any thread.
#pragma once

#include "api/call/api_error.h"
#include "http/http_connection.h"

namespace octavo::server {

/// The limit in seconds, 0 where the header is absent. Error: it has no such number.
ApiResult<double> deadline_of(const HttpRequest& request);
Clock::time_point time_after(Clock::time_point begin, double seconds);
/// The error of a request whose time is over.
ApiError deadline_over();

}  // namespace octavo::server
