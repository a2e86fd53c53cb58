#include "server/routes.h"

#include <fmt/format.h>

namespace octavo::server {
namespace {

using boost::beast::http::verb;

constexpr RouteMatch kRoutes[] = {
    {.route = Route::kChatPage, .pattern = "/", .argument = {}, .is_post = false, .needs_key = false},
    {.route = Route::kHealth, .pattern = "/health", .argument = {}, .is_post = false, .needs_key = false},
    {.route = Route::kReady, .pattern = "/ready", .argument = {}, .is_post = false, .needs_key = false},
    {.route = Route::kMetrics, .pattern = "/metrics", .argument = {}, .is_post = false, .needs_key = false},
    {.route = Route::kVersion, .pattern = "/version", .argument = {}, .is_post = false, .needs_key = false},
    {.route = Route::kModels, .pattern = "/v1/models", .argument = {}, .is_post = false, .needs_key = true},
    {.route = Route::kTokenize, .pattern = "/tokenize", .argument = {}, .is_post = true, .needs_key = true},
    {.route = Route::kDetokenize, .pattern = "/detokenize", .argument = {}, .is_post = true, .needs_key = true},
    {.route = Route::kCompletions, .pattern = "/v1/completions", .argument = {}, .is_post = true, .needs_key = true},
    {.route = Route::kChatCompletions,
     .pattern = "/v1/chat/completions",
     .argument = {},
     .is_post = true,
     .needs_key = true},
    {.route = Route::kEmbeddings, .pattern = "/v1/embeddings", .argument = {}, .is_post = true, .needs_key = true},
};
constexpr std::string_view kModelPrefix = "/v1/models/";

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

const RouteMatch* find_path(std::string_view path) {
  for (const RouteMatch& match : kRoutes)
    if (match.pattern == path) return &match;
  return nullptr;
}

std::string_view methods(const RouteMatch& match) { return match.is_post ? "POST" : "GET, HEAD"; }

}  // namespace

ApiResult<RouteMatch> find_route(verb method, std::string_view target) {
  const std::string_view path = path_of(target);
  RouteMatch match{};
  if (const RouteMatch* found = find_path(path)) {
    match = *found;
  } else if (path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size()) {
    match = {.route = Route::kModel,
             .pattern = "/v1/models/{id}",
             .argument = path.substr(kModelPrefix.size()),
             .is_post = false,
             .needs_key = true};
  } else {
    return std::unexpected(
        ApiError{.status = 404, .message = fmt::format("there is no {}", path), .code = "not_found"});
  }
  const bool allowed = match.is_post ? method == verb::post : method == verb::get || method == verb::head;
  if (!allowed)
    return std::unexpected(ApiError{.status = 405,
                                    .message = fmt::format("{} takes {}", match.pattern, methods(match)),
                                    .code = "method_not_allowed"});
  return match;
}

std::string_view allowed_methods(std::string_view target) {
  const std::string_view path = path_of(target);
  if (const RouteMatch* match = find_path(path)) return methods(*match);
  return path.starts_with(kModelPrefix) ? "GET, HEAD" : "";
}

}  // namespace octavo::server
