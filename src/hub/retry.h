// When a get that failed is tried again, and how long after.
#pragma once

#include <chrono>
#include <optional>

#include "hub/http_client.h"

namespace octavo::hub {

struct RetryPolicy {
  int attempts = 5;                             // the most failures in a row without progress
  std::chrono::milliseconds first_delay{1000};  // the first wait, doubled each time
  std::chrono::seconds longest_wait{60};        // the longest wait of a server; beyond it the get has failed
};

/// The wait before the next attempt, after `failures` in a row; none: the failure is final. Failures of the network
/// and the statuses 408, 429, 500, 502, 503, 504 are tried again; Retry-After (seconds, a date) counts.
std::optional<std::chrono::milliseconds> wait_before_retry(const HttpResult& result, int failures,
                                                           const RetryPolicy& policy);

}  // namespace octavo::hub
