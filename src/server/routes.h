// The paths that there are, and their methods. Pure.
#pragma once

#include <boost/beast/http/verb.hpp>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "api/api_error.h"

namespace octavo::server {

enum class Route : std::uint8_t {
  kChatPage,
  kHealth,
  kReady,
  kMetrics,
  kVersion,
  kModels,
  kModel,
  kLoadModel,
  kUnloadModel,
  kTokenize,
  kDetokenize,
  kApplyTemplate,
  kCompletions,
  kChatCompletions,
  kMessages,
  kCountMessageTokens,
  kResponses,
  kCountResponseTokens,
  kResponse,
  kDeleteResponse,
  kResponseInput,
  kLlamaCompletion,
  kLlamaInfill,
  kLlamaProps,
  kLlamaSlots,
  kOllamaChat,
  kOllamaGenerate,
  kOllamaTags,
  kOllamaRunning,
  kOllamaShow,
  kOllamaVersion,
  kOllamaPull,
  kOllamaChange,  // one that is refused
  kEmbeddings,
};

struct RouteMatch {
  Route route;
  std::string_view pattern;  // the path as metrics name it, without a client's text in it
  std::string argument;  // that stands for {id}, or of /props and /slots the query's model, with its percent-escapes
                         // decoded: any bytes
  bool is_post;
  bool needs_key;
};

/// The path of a request's target, which may be a whole URL, as the table of routes spells it: slashes that are one too
/// many are left out, and so is a /v1, or put in, where there is such a path and not that one. Clients are given an
/// address with /v1 or without, with a slash at its end or without. A path that is not there, without the former.
std::string known_path(std::string_view target);

/// `target` is a request's, a path or a whole URL, with its query. Errors: 400 (an escape that is none), 404, 405; a
/// HEAD is a GET.
ApiResult<RouteMatch> find_route(boost::beast::http::verb method, std::string_view target);
/// The body of an error's answer, in the form of the API that has this target.
std::string error_body_at(std::string_view target, const ApiError& error);

/// "GET, HEAD", "POST" or "GET, HEAD, DELETE": of a 405's Allow header; empty for an unknown path.
std::string allowed_methods(std::string_view target);

}  // namespace octavo::server
