// Asks a hub of models, by the protocol of huggingface.co. The token goes to the hub's own origin (scheme, host and
// port) and nowhere else: redirects are followed here, one by one. One owner, one thread.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "hub/http_client.h"
#include "hub/listing.h"
#include "hub/retry.h"
#include "hub/settings.h"

namespace octavo::hub {

/// Tells the user a line.
using Say = std::function<void(const std::string&)>;

class HubClient {
 public:
  /// Errors: the token's file or the endpoint is bad. Each call ends with an error once a stop is asked for.
  static Result<HubClient> create(const Settings& settings, RetryPolicy policy, Say say, std::stop_token stop);

  const std::stop_token& stop() const { return stop_; }

  /// The files of a repository's main branch, as it is now.
  Result<Listing> list(const std::string& repo);
  /// The address of a file of the repository.
  std::string file_url(const std::string& repo, const std::string& commit, const std::string& path) const;

  /// A get that follows redirects. In the head x-linked-etag is what the hub itself said; an etag of another host is
  /// left out.
  HttpResult get(const std::string& url, const std::vector<std::string>& fields, const HttpSink& sink);

  /// Waits before the next attempt, and tells the user. Error: the failure is final, in words; a stop was asked for.
  Result<void> wait(const HttpResult& result, int failures, const std::string& url);

 private:
  HubClient(const Settings& settings, std::string token, std::string origin, RetryPolicy policy, Say say,
            std::stop_token stop);
  Error error_of(const HttpResult& result, const std::string& url) const;

  HttpClient http_;
  std::string endpoint_, origin_, token_;
  std::chrono::seconds list_time_;  // the most time for a list of files
  RetryPolicy policy_;
  Say say_;
  std::stop_token stop_;
};

}  // namespace octavo::hub
