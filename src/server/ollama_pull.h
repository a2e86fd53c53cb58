// The bodies and answers of ollama's /api/pull, and the answers to its other requests that change models.
// https://github.com/ollama/ollama/blob/main/docs/api.md
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>

#include "api/call/api_error.h"
#include "server/model_puller.h"
#include "server/routes.h"

namespace octavo::server {

struct OllamaPull {
  std::string name;  // without ":latest"
  bool stream = true;
};

/// Reads a body. Errors: fields of a wrong type; no name; a registry that is not trusted.
ApiResult<OllamaPull> parse_ollama_pull(const boost::json::object& body);

/// The lines of a stream that report progress since `told`. A stage that began and ended between the two is reported as
/// well.
std::string pull_lines(const PullNews& told, const PullNews& news);
/// The last lines of a stream that has reported `told`.
std::string last_pull_lines(const PullNews& told, const ModelPuller::Outcome& outcome);
/// The line {"status": "success"}, with the warnings.
std::string pull_success(std::span<const std::string> warnings);

/// The error (403) for a path by which ollama's clients change models; it says what the operator types instead.
ApiError refused_change(std::string_view path);
/// The error (403) for /api/pull on a server that was started without it.
ApiError pulls_not_allowed();

}  // namespace octavo::server
