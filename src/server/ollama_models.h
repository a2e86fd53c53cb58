// Answers of ollama's API about the models of the server.
// https://github.com/ollama/ollama/blob/main/docs/api.md
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <list>

#include "octavo/engine.h"
#include "server/api_error.h"
#include "server/completion.h"
#include "server/model_slot.h"

namespace octavo::server {

/// GET /api/tags: the models that there are.
boost::json::object ollama_tags(const std::list<ModelSlot>& models);
/// GET /api/ps: the models in memory. `idle_unload`: after how long one that nobody uses leaves it; 0: never.
boost::json::object ollama_running(const std::list<ModelSlot>& models, std::chrono::milliseconds idle_unload);
/// POST /api/show: more about the one that the body names. Errors: fields of a wrong type; another model.
ApiResult<boost::json::object> ollama_show(const boost::json::object& body, const ServedModel& model,
                                           const ModelInfo& info);
inline constexpr std::size_t kMaxShowBytes = 65536;  // of such a body: the name of a model

}  // namespace octavo::server
