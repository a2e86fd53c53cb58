// Gets of http and https, one at a time, each bounded: time to connect, time at a standstill, size of the head. Follows
// no redirect: who asks decides where its token goes (hub_client.h). Proxies are libcurl's, from its environment
// variables. One owner, one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "hub/ca_bundle.h"

namespace octavo::hub {

struct HttpOptions {
  CaBundle ca_bundle = {};           // the trusted authorities; none: https is an error
  std::chrono::seconds connect{15};  // the longest wait for a connection
  std::chrono::seconds stall{30};    // the longest time at less than 1 KiB/s
  std::size_t max_head_bytes = 1 << 18;
  std::stop_token stop = {};  // a get ends with an error within a second of this request
};

struct HttpHead {
  int status = 0;                                                // 0: no answer
  std::vector<std::pair<std::string, std::string>> fields = {};  // names in lower case

  /// The first field of a name, which is in lower case.
  std::optional<std::string_view> find(std::string_view name) const;
  /// The first field of a name, as a number.
  std::optional<std::uint64_t> find_number(std::string_view name) const;
};

/// The end of a get.
struct HttpResult {
  HttpHead head;
  std::optional<Error> error = {};  // the error; none: the whole answer came
  bool is_transient = false;        // whether the error is of the network, and may be gone the next time
};

/// Takes the bytes of a body. An error ends the get, which gives it back.
struct HttpSink {
  std::function<Result<void>(const HttpHead&)> on_head;
  std::function<Result<void>(std::span<const std::byte>)> on_body;
};

class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// `fields`: "Name: value". The sink gets the body where the status is 200 or 206; other bodies are dropped.
  HttpResult get(const std::string& url, const std::vector<std::string>& fields, const HttpSink& sink);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  HttpOptions options_;
};

}  // namespace octavo::hub
