// One request on its way to its answer: its connection, its client, and the record of both that the access log gets.
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

/// One request and its answer.
struct Exchange {
  HttpConnection& connection;
  HttpRequest request;
  Address client = {};  // the sender, as far as trusted proxies tell; it counts as its client_group()
  ApiKey key = {};      // its name is empty where there are no keys
  Clock::time_point begin = {};
  AccessRecord record = {};
};

/// The name under which the request's client is counted for fairness: its key, or without keys its address.
std::string client_of(const Exchange& exchange);

/// Fills in the client and the record, as far as the request's head tells. `own_id` names a request that has no
/// printable X-Request-Id of its own.
void identify(Exchange& exchange, const Address& peer, const TrustedProxies& proxies, std::string own_id);

/// The values of all header fields of that name, in order. They are valid as long as the request.
std::vector<std::string_view> lines_of(const HttpRequest& request, std::string_view name);

}  // namespace octavo::server
