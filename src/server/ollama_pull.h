// Bodies and answers of ollama's /api/pull, and what its other changes of models are answered with.
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

/// Errors: fields of a wrong type, no name, a registry that is not to be trusted.
ApiResult<OllamaPull> parse_ollama_pull(const boost::json::object& body);

/// The lines of a stream that say how far a fetch is, after lines that told `told`: a stage that passed unseen between
/// the two is told as well.
std::string pull_lines(const PullNews& told, const PullNews& news);
/// The rest of a stream whose last lines told `told`.
std::string last_pull_lines(const PullNews& told, const ModelPuller::Outcome& outcome);
/// {"status": "success"}, with the warnings.
std::string pull_success(std::span<const std::string> warnings);

/// The 403 of a path by which ollama's clients change models, with what its operator types instead.
ApiError refused_change(std::string_view path);
/// The 403 of /api/pull on a server that was started without it.
ApiError pulls_not_allowed();

}  // namespace octavo::server
