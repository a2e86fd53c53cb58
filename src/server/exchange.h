// One request and its answer, with the connection, the client, and the record for the access log.
//
// Owned by the coroutine that serves the connection; the I/O thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/address.h"
#include "http/forwarded.h"
#include "http/http_connection.h"
#include "server/access_log.h"
#include "server/api_keys.h"

namespace octavo::server {

/// One request on its way to its answer.
struct Exchange {
  HttpConnection& connection;
  HttpRequest request;
  Address client = {};  // the sender, as trusted proxies name it; it counts by its client_group()
  ApiKey key = {};      // the name is empty where there are no keys
  Clock::time_point begin = {};
  AccessRecord record = {};
  std::string load = {};  // the value of the answer's header endpoint-load-metrics; empty: it has none
};

/// The client's name for fairness: that of its key, or without keys its address.
std::string client_of(const Exchange& exchange);

/// The client's name of the flow that the request belongs to, which shares what is the client's: the header
/// x-llm-d-inference-fairness-id. Empty: it names none, or not in up to 128 printable characters.
std::string flow_of(const Exchange& exchange);

/// Sets the client and the record by the request's head. `own_id`: the name of a request without a printable
/// X-Request-Id.
void identify(Exchange& exchange, const Address& peer, const TrustedProxies& proxies, std::string own_id);

/// The values of all header fields of this name, in order. They are views into the request.
std::vector<std::string_view> lines_of(const HttpRequest& request, std::string_view name);

}  // namespace octavo::server
