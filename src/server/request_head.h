// Checks the heads of requests, and adds the header fields of answers. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/call/api_error.h"
#include "http/http_connection.h"
#include "http/listener.h"
#include "server/api_keys.h"
#include "server/routes.h"

namespace octavo::server {

/// The origins whose pages may call from a browser; "*": every one; empty: no page may.
using CorsOrigins = std::vector<std::string>;

/// The reason to refuse a request before its body is read: its host, path, method or key, or the page that sent it. Its
/// Content-Type is never a reason: whatever it says, a body is read as JSON.
std::optional<ApiError> check_head(const HttpRequest& request, const Routes& routes, const Entrance& entrance,
                                   const ApiKeys& keys, const CorsOrigins& origins);

/// The key that a request has as OpenAI's clients send it (Authorization: Bearer) or as Anthropic's (X-Api-Key); null:
/// it has none that is known.
const ApiKey* key_of(const HttpRequest& request, const ApiKeys& keys);

/// The error of a request whose key was revoked after check_head().
ApiError key_revoked();

/// The answer to a browser's preflight request.
HttpResponse preflight(const HttpRequest& request, const Routes& routes);

/// Adds the fields that every answer has.
void add_headers(const HttpRequest& request, const Routes& routes, const std::string& request_id,
                 const CorsOrigins& origins, HttpResponse& response);

}  // namespace octavo::server
