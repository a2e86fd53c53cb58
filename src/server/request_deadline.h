// The time limits that a request has in its head: X-Request-Timeout in seconds, and llm-d's objectives
// x-llm-d-slo-ttft-ms and x-llm-d-slo-tpot-ms.
//
// Free functions without state; any thread.
#pragma once

#include "api/call/api_error.h"
#include "http/http_connection.h"
#include "octavo/request.h"

namespace octavo::server {

/// The limit in seconds, 0 where the header is absent. Error: it has no such number.
ApiResult<double> deadline_of(const HttpRequest& request);

/// The pace that a request asks for; 0: it does not say.
struct AskedPace {
  double first_token_s = 0, next_token_s = 0;

  /// Shortens the deadline of a request that has one to the time of its whole answer at this pace. It never makes one.
  void shorten(Request& request) const;
};
/// Error: a header has no such number.
ApiResult<AskedPace> asked_pace(const HttpRequest& request);

Clock::time_point time_after(Clock::time_point begin, double seconds);
/// The error of a request whose time is over.
ApiError deadline_over();

}  // namespace octavo::server
