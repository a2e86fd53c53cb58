#include "server/routes.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

namespace octavo::server {
namespace {

using boost::beast::http::verb;

struct PathRoute {
  Route route;
  std::string_view path;
  bool is_post = false;
  bool needs_key = false;
};

constexpr PathRoute kRoutes[] = {
    {.route = Route::kChatPage, .path = "/"},
    {.route = Route::kHealth, .path = "/health"},
    {.route = Route::kReady, .path = "/ready"},
    {.route = Route::kMetrics, .path = "/metrics", .needs_key = true},
    {.route = Route::kVersion, .path = "/version"},
    {.route = Route::kModels, .path = "/v1/models", .needs_key = true},
    {.route = Route::kTokenize, .path = "/tokenize", .is_post = true, .needs_key = true},
    {.route = Route::kDetokenize, .path = "/detokenize", .is_post = true, .needs_key = true},
    {.route = Route::kApplyTemplate, .path = "/apply-template", .is_post = true, .needs_key = true},
    {.route = Route::kCompletions, .path = "/v1/completions", .is_post = true, .needs_key = true},
    {.route = Route::kChatCompletions, .path = "/v1/chat/completions", .is_post = true, .needs_key = true},
    {.route = Route::kMessages, .path = "/v1/messages", .is_post = true, .needs_key = true},
    {.route = Route::kCountMessageTokens, .path = "/v1/messages/count_tokens", .is_post = true, .needs_key = true},
    {.route = Route::kOllamaChat, .path = "/api/chat", .is_post = true, .needs_key = true},
    {.route = Route::kOllamaGenerate, .path = "/api/generate", .is_post = true, .needs_key = true},
    {.route = Route::kOllamaTags, .path = "/api/tags", .needs_key = true},
    {.route = Route::kOllamaRunning, .path = "/api/ps", .needs_key = true},
    {.route = Route::kOllamaShow, .path = "/api/show", .is_post = true, .needs_key = true},
    {.route = Route::kOllamaVersion, .path = "/api/version"},
    {.route = Route::kEmbeddings, .path = "/v1/embeddings", .is_post = true, .needs_key = true},
};
constexpr PathRoute kModelRoute = {.route = Route::kModel, .path = "/v1/models/{id}", .needs_key = true};
constexpr std::string_view kModelPrefix = "/v1/models/";

/// Without the query, and without scheme and authority, which a request through a proxy may have (RFC 9112, 3.2.2).
std::string_view path_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return target;
  const std::size_t path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? "/" : target.substr(path);
}

const PathRoute* find_path(std::string_view path) {
  for (const PathRoute& route : kRoutes)
    if (route.path == path) return &route;
  return path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size() ? &kModelRoute : nullptr;
}

std::string_view methods(const PathRoute& route) { return route.is_post ? "POST" : "GET, HEAD"; }

/// RFC 3986, 2.1. Nothing where a % has no two hexadecimal digits.
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

ApiResult<RouteMatch> find_route(verb method, std::string_view target) {
  const std::string_view path = path_of(target);
  const PathRoute* route = find_path(path);
  if (route == nullptr)
    return std::unexpected(
        ApiError{.status = 404, .message = fmt::format("there is no {}", path), .code = "not_found"});
  const bool allowed = route->is_post ? method == verb::post : method == verb::get || method == verb::head;
  if (!allowed)
    return std::unexpected(ApiError{.status = 405,
                                    .message = fmt::format("{} takes {}", route->path, methods(*route)),
                                    .code = "method_not_allowed"});
  RouteMatch match{.route = route->route,
                   .pattern = route->path,
                   .argument = {},
                   .is_post = route->is_post,
                   .needs_key = route->needs_key};
  if (route != &kModelRoute) return match;
  auto id = percent_decode(path.substr(kModelPrefix.size()));
  if (!id)
    return std::unexpected(
        ApiError{.status = 400,
                 .message = fmt::format("{}: found a % without two hexadecimal digits, expected one as %25", path),
                 .param = "model",
                 .code = "invalid_value"});
  match.argument = std::move(*id);
  return match;
}

std::string_view allowed_methods(std::string_view target) {
  const PathRoute* route = find_path(path_of(target));
  return route == nullptr ? "" : methods(*route);
}

}  // namespace octavo::server
