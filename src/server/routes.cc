#include "server/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "server/api_routes.h"
#include "server/query.h"
#include "server/route_rows.h"

namespace octavo::server {
namespace {

using boost::beast::http::verb;

constexpr std::string_view kArgument = "{id}";
constexpr std::string_view kVersion = "/v1";

/// The target without its query, and without the scheme and authority that a request through a proxy may have (RFC
/// 9112, 3.2.2).
std::string_view path_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return target;
  const std::size_t path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? "/" : target.substr(path);
}

/// The part of the path that stands for {id}; empty where the route has none. Nothing: the path is not the route's.
std::optional<std::string_view> match_path(const RouteRow& route, std::string_view path) {
  const std::size_t begin = route.path.find(kArgument);
  if (begin == std::string_view::npos) return path == route.path ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = route.path.substr(0, begin), behind = route.path.substr(begin + kArgument.size());
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) || !path.ends_with(behind))
    return std::nullopt;
  path = path.substr(before.size(), path.size() - before.size() - behind.size());
  if (!route.takes_slashes && path.contains('/')) return std::nullopt;
  return path;
}

std::string with_single_slashes(std::string_view path) {
  std::string single;
  for (const char c : path)
    if (c != '/' || !single.ends_with('/')) single += c;
  return single;
}

bool takes(const RouteRow& route, verb method) {
  return route.method == method || (route.method == verb::get && method == verb::head);
}

std::string_view methods(const RouteRow& route) {
  if (route.method == verb::get) return "GET, HEAD";
  return route.method == verb::post ? "POST" : "DELETE";
}

/// Decodes percent-escapes (RFC 3986, 2.1). Nothing where a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    std::size_t length = 1;
    unsigned char byte = static_cast<unsigned char>(text.front());
    if (byte == '%') {
      length = 3;
      if (text.size() < length) return std::nullopt;
      const char* const begin = text.data() + 1;
      if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
    }
    decoded += static_cast<char>(byte);
    text.remove_prefix(length);
  }
  return decoded;
}

}  // namespace

Routes::Routes(std::span<const Api> apis) : apis_(apis) {
  const auto add = [this](std::string_view path, const Api& api, auto* answer) {
    if (path.empty()) return;
    rows_.push_back(
        {.path = path, .method = verb::post, .answer = answer, .needs_key = true, .needs_models = true, .api = &api});
  };
  for (const Api& api : apis) {
    for (const std::string_view path : api.paths) add(path, api, answer_of_api);
    add(api.counted.path, api, count_of_api);
    add(api.rendered.path, api, render_of_api);
  }
  const std::span<const RouteRow> own = own_routes();
  rows_.insert(rows_.end(), own.begin(), own.end());
}

bool Routes::is_known(std::string_view path) const {
  return std::ranges::any_of(rows_, [&](const RouteRow& route) { return match_path(route, path).has_value(); });
}

bool Routes::has_spelt_out(std::string_view path) const {
  return std::ranges::find(rows_, path, &RouteRow::path) != rows_.end();
}

std::string Routes::known_path(std::string_view target) const {
  std::string_view given = path_of(target);
  while (given.size() > 1 && given.ends_with('/')) given.remove_suffix(1);
  if (is_known(given)) return std::string(given);  // unchanged, as a client's text in it may have slashes of its own
  std::string path = with_single_slashes(given);
  if (is_known(path)) return path;
  const std::string other = path.starts_with(kVersion) && path.substr(kVersion.size()).starts_with('/')
                                ? path.substr(kVersion.size())
                                : std::string(kVersion) + path;
  return is_known(other) ? other : path;
}

ApiResult<RouteMatch> Routes::find(verb method, std::string_view target) const {
  const std::string path = known_path(target);
  const bool is_spelt_out = has_spelt_out(path);
  std::string_view known;  // the path of a route that takes other methods
  for (const RouteRow& route : rows_) {
    const auto argument = match_path(route, path);
    if (!argument || (is_spelt_out && route.path != path)) continue;
    known = route.path;
    if (!takes(route, method)) continue;
    auto decoded = percent_decode(route.is_queried ? query_value(target, "model").value_or("") : *argument);
    if (!decoded)
      return std::unexpected(
          ApiError{.status = 400,
                   .message = fmt::format("{}: found a % without two hexadecimal digits, expected one as %25", path),
                   .param = "id",
                   .code = "invalid_value"});
    return RouteMatch{.row = &route, .argument = std::move(*decoded)};
  }
  if (known.empty())
    return std::unexpected(
        ApiError{.status = 404, .message = fmt::format("there is no {}", path_of(target)), .code = "not_found"});
  return std::unexpected(ApiError{.status = 405,
                                  .message = fmt::format("{} takes {}", known, allowed_methods(target)),
                                  .code = "method_not_allowed"});
}

std::string Routes::error_body(std::string_view target, const ApiError& error) const {
  return error_form(apis_, known_path(target))(error);
}

std::string Routes::description() const {
  std::vector<DescribedRoute> described;
  for (const RouteRow& route : rows_) {
    if (route.api != nullptr) continue;
    const std::string_view method = route.method == verb::get ? "get" : route.method == verb::post ? "post" : "delete";
    described.push_back({.path = route.path, .method = method, .needs_key = route.needs_key, .text = route.text});
  }
  return openapi_document(apis_, described);
}

std::string Routes::allowed_methods(std::string_view target) const {
  const std::string path = known_path(target);
  const bool is_spelt_out = has_spelt_out(path);
  std::string allowed;
  for (const RouteRow& route : rows_) {
    if (!match_path(route, path) || (is_spelt_out && route.path != path)) continue;
    if (!allowed.empty()) allowed += ", ";
    allowed += methods(route);
  }
  return allowed;
}

}  // namespace octavo::server
