#include "hub/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

namespace octavo::hub {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The time that a server asks for.
std::optional<seconds> asked_for(const HttpHead& head) {
  if (const auto number = head.find_number("retry-after")) {
    constexpr std::uint64_t kDay = 86400;
    return seconds(std::min(*number, kDay));
  }
  const auto text = head.find("retry-after");
  if (!text) return std::nullopt;
  const std::time_t date = curl_getdate(std::string(*text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return seconds(std::max<std::time_t>(date - std::time(nullptr), 0));
}

}  // namespace

std::optional<milliseconds> wait_before_retry(const HttpResult& result, int failures, const RetryPolicy& policy) {
  constexpr std::array kStatuses = {408, 429, 500, 502, 503, 504};
  const bool is_worth_it =
      result.is_transient || (!result.error && std::ranges::find(kStatuses, result.head.status) != kStatuses.end());
  if (!is_worth_it || failures >= policy.attempts) return std::nullopt;
  const milliseconds doubled = policy.first_delay * (1 << std::min(failures - 1, 10));
  const milliseconds own = std::min<milliseconds>(doubled, policy.longest_wait);
  const auto asked = asked_for(result.head);
  if (!asked) return own;
  if (*asked > policy.longest_wait) return std::nullopt;
  return std::max<milliseconds>(*asked, own);
}

}  // namespace octavo::hub
