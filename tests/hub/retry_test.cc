#include "hub/retry.h"

#include <gtest/gtest.h>

#include <ctime>

namespace octavo::hub {
namespace {

using namespace std::chrono_literals;

HttpResult with_status(int status, const char* retry_after = nullptr) {
  HttpResult result{.head = {.status = status}};
  if (retry_after != nullptr) result.head.fields.emplace_back("retry-after", retry_after);
  return result;
}

TEST(Retry, OnlyWhatMayPassIsTriedAgain) {
  const RetryPolicy policy;
  for (const int status : {408, 429, 500, 502, 503, 504})
    EXPECT_TRUE(wait_before_retry(with_status(status), 1, policy)) << status;
  for (const int status : {0, 200, 400, 401, 403, 404, 410, 416, 501})
    EXPECT_FALSE(wait_before_retry(with_status(status), 1, policy)) << status;
  EXPECT_TRUE(wait_before_retry({.head = {}, .error = Error{"cut"}, .is_transient = true}, 1, policy));
  EXPECT_FALSE(wait_before_retry({.head = {}, .error = Error{"no certificate"}}, 1, policy));
  EXPECT_FALSE(wait_before_retry({.head = {.status = 503}, .error = Error{"refused"}}, 1, policy));
}

TEST(Retry, WaitsDoubleAndAttemptsAreCounted) {
  const RetryPolicy policy;
  EXPECT_EQ(wait_before_retry(with_status(503), 1, policy), 1s);
  EXPECT_EQ(wait_before_retry(with_status(503), 2, policy), 2s);
  EXPECT_EQ(wait_before_retry(with_status(503), 4, policy), 8s);
  EXPECT_FALSE(wait_before_retry(with_status(503), 5, policy));
  EXPECT_EQ(wait_before_retry(with_status(503), 40, {.attempts = 100}), 60s);
}

TEST(Retry, TheServersOwnWishIsHeededUpToABound) {
  const RetryPolicy policy;
  EXPECT_EQ(wait_before_retry(with_status(429, "7"), 1, policy), 7s);
  EXPECT_EQ(wait_before_retry(with_status(429, "0"), 1, policy), 1s);
  EXPECT_EQ(wait_before_retry(with_status(429, "soon"), 1, policy), 1s);
  EXPECT_FALSE(wait_before_retry(with_status(429, "3600"), 1, policy));
  EXPECT_FALSE(wait_before_retry(with_status(429, "18446744073709551615"), 1, policy));
  EXPECT_EQ(wait_before_retry(with_status(503, "Wed, 21 Oct 2015 07:28:00 GMT"), 1, policy), 1s) << "it has passed";
  EXPECT_FALSE(wait_before_retry(with_status(503, "Fri, 31 Dec 2100 23:59:59 GMT"), 1, policy));
}

}  // namespace
}  // namespace octavo::hub
