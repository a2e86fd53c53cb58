// Answers of ollama's API about the model that is served.
// https://github.com/ollama/ollama/blob/main/docs/api.md
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string_view>

#include "octavo/engine.h"
#include "server/api_error.h"
#include "server/completion.h"
#include "server/json_body.h"

namespace octavo::server {

/// GET /api/tags: the models that there are.
boost::json::object ollama_tags(const ServedModel& model, const ModelInfo& info);
/// GET /api/ps: the models in memory, which it never leaves.
boost::json::object ollama_running(const ServedModel& model, const ModelInfo& info);
/// POST /api/show: more about the one that the body names. It is short, and parsed where others wait for it. Errors: it
/// is not, or no JSON, or names another model.
inline constexpr std::size_t kMaxShowBytes = 65536;
ApiResult<boost::json::object> answer_ollama_show(std::string_view body, const JsonLimits& limits,
                                                  const ServedModel& model, const ModelInfo& info);

}  // namespace octavo::server
