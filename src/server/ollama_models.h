// Answers of ollama's API about the model that is served.
// https://github.com/ollama/ollama/blob/main/docs/api.md
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>

#include "octavo/engine.h"
#include "server/completion.h"

namespace octavo::server {

/// GET /api/tags: the models that there are.
boost::json::object ollama_tags(const ServedModel& model, const ModelInfo& info);
/// GET /api/ps: the models in memory, which it never leaves.
boost::json::object ollama_running(const ServedModel& model, const ModelInfo& info);
/// POST /api/show: more about one.
boost::json::object ollama_show(const ServedModel& model, const ModelInfo& info);

}  // namespace octavo::server
