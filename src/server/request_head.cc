#include "server/request_head.h"

#include <algorithm>

#include "http/origin_check.h"

namespace octavo::server {
namespace {

constexpr std::size_t kMaxShownHost = 100;

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

ApiError wrong_key(std::string message) {
  return {.status = 401, .message = std::move(message), .type = "authentication_error", .code = "invalid_api_key"};
}

std::optional<ApiError> check_host(const HttpRequest& request, const HostList& hosts) {
  const auto field = request.find(http::field::host);
  std::optional<std::string_view> host;
  if (field != request.end()) host = std::string_view(field->value().data(), field->value().size());
  const auto wrong = find_wrong_host(hosts, host, std::string_view(request.target().data(), request.target().size()));
  if (!wrong) return std::nullopt;
  return ApiError{.status = 403,
                  .message = fmt::format("this server does not answer to the host '{}', expected localhost, 127.0.0.1, "
                                         "[::1], its --host or a name given with --allowed-host",
                                         wrong->substr(0, kMaxShownHost)),
                  .code = "host_not_allowed"};
}

/// The error of a route that exists, but not at this entrance.
std::optional<ApiError> check_entrance(const RouteRow& row, const Entrance& entrance) {
  const bool is_metrics = row.is_metrics;
  const bool is_there = entrance.metrics_alone ? row.is_probe || is_metrics : !is_metrics || entrance.has_metrics;
  if (is_there) return std::nullopt;
  return ApiError{.status = 404,
                  .message = fmt::format("there is no {} at this address{}", row.path,
                                         is_metrics ? ": it has its own, set with --metrics-listen" : ""),
                  .code = "not_found"};
}

std::optional<ApiError> check_key(const HttpRequest& request, const ApiKeys& keys) {
  if (keys.empty() || key_of(request, keys) != nullptr) return std::nullopt;
  return wrong_key("no valid API key was given, expected the header Authorization: Bearer KEY, or X-Api-Key: KEY");
}

/// Refuses a request of another site's page: its browser would not show it the answer, but the model would have
/// computed it.
std::optional<ApiError> check_page(const HttpRequest& request, const CorsOrigins& origins) {
  if (request.method() == http::verb::get || request.method() == http::verb::head) return std::nullopt;
  const auto value_of = [&](const char* name) {
    const auto value = request[name];
    return std::string_view(value.data(), value.size());
  };
  const PageFields fields{.host = value_of("Host"),
                          .origin = value_of("Origin"),
                          .site = value_of("Sec-Fetch-Site"),
                          .has_custom_field = request.find("X-Requested-With") != request.end()};
  if (may_send(fields, origins)) return std::nullopt;
  const std::string_view shown = fields.origin.empty() ? "another site" : fields.origin.substr(0, kMaxShownHost);
  return ApiError{.status = 403,
                  .message = fmt::format("a page of '{}' may not call this server at '{}', expected one of its own, or "
                                         "of an origin given with --cors-origin",
                                         shown, fields.host.substr(0, kMaxShownHost)),
                  .code = "origin_not_allowed"};
}

}  // namespace

ApiError key_revoked() { return wrong_key("the API key of this request is no longer valid"); }

const ApiKey* key_of(const HttpRequest& request, const ApiKeys& keys) {
  const auto own = request.find("X-Api-Key");
  return own == request.end() ? keys.find(request[http::field::authorization]) : keys.find_key(text_of(own->value()));
}

std::optional<ApiError> check_head(const HttpRequest& request, const Routes& routes, const Entrance& entrance,
                                   const ApiKeys& keys, const CorsOrigins& origins) {
  if (auto error = check_host(request, entrance.hosts)) return error;
  if (request.method() == http::verb::options && !origins.empty()) return std::nullopt;
  auto match = routes.find(request.method(), request.target());
  if (!match) return std::move(match.error());
  if (auto error = check_entrance(*match->row, entrance)) return error;
  if (auto error = check_page(request, origins)) return error;
  if (match->row->needs_key && !entrance.metrics_alone)
    if (auto error = check_key(request, keys)) return error;
  return std::nullopt;
}

HttpResponse preflight(const HttpRequest& request, const Routes& routes) {
  HttpResponse response{.status = 204, .content_type = {}};
  // Clients say what they are by headers of their own. No header lets a page do more here than its origin may.
  std::string headers = text_of(request[http::field::access_control_request_headers]);
  if (headers.empty()) headers = "Authorization, Content-Type, X-Api-Key, X-Request-Id, X-Request-Timeout";
  response.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS"},
                      {"Access-Control-Allow-Headers", std::move(headers)},
                      {"Access-Control-Max-Age", "3600"},
                      {"Allow", routes.allowed_methods(request.target())}};
  return response;
}

void add_headers(const HttpRequest& request, const Routes& routes, const std::string& request_id,
                 const CorsOrigins& origins, HttpResponse& response) {
  response.headers.emplace_back("X-Request-Id", request_id);
  if (response.status == 405) response.headers.emplace_back("Allow", routes.allowed_methods(request.target()));
  if (origins.empty()) return;
  const std::string origin = text_of(request[http::field::origin]);
  if (origin.empty()) return;
  const bool any = std::ranges::find(origins, "*") != origins.end();
  if (!any && std::ranges::find(origins, origin) == origins.end()) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", any ? "*" : origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, X-Should-Retry");
  response.headers.emplace_back("Vary", "Origin");
}

}  // namespace octavo::server
