// When a get that failed is tried again, and how long after.
#pragma once

#include <chrono>
#include <optional>

#include "hub/http_client.h"

namespace octavo::hub {

struct RetryPolicy {
  int attempts = 5;                             // in a row without progress
  std::chrono::milliseconds first_delay{1000};  // doubled each time
  std::chrono::seconds longest_wait{60};        // that a server may ask for; beyond it the get has failed
};

/// The time to wait before the next attempt, behind `failures` in a row; none: it is final. Tried again are failures of
/// the network and the statuses 408, 429, 500, 502, 503 and 504; Retry-After, in seconds or as a date, is heeded.
std::optional<std::chrono::milliseconds> wait_before_retry(const HttpResult& result, int failures,
                                                           const RetryPolicy& policy);

}  // namespace octavo::hub
