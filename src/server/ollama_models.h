// The answers of ollama's API about the models of the server.
// https://github.com/ollama/ollama/blob/main/docs/api.md
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <list>
#include <string_view>

#include "api/call/api_error.h"
#include "api/call/completion.h"
#include "octavo/engine.h"
#include "server/model_table.h"

namespace octavo::server {

/// The version of ollama whose API is implemented: clients learn from GET /api/version what they may ask.
inline constexpr std::string_view kSpokenVersion = "0.14.0";

/// GET /api/tags: all models. None is loaded for it: for those that are not, capabilities that depend on the vocabulary
/// (tools, thinking, insert) are left out. `policy`: that of all requests.
boost::json::object ollama_tags(const std::list<ModelSlot>& models, const RequestPolicy& policy);
/// GET /api/ps: the models in memory, and when they will be unloaded.
boost::json::object ollama_running(const ModelTable& models, ModelTable::Clock::time_point now);
/// POST /api/show: facts about the model that the body names. Errors: fields of a wrong type; another model.
ApiResult<boost::json::object> ollama_show(const boost::json::object& body, const ServedModel& model,
                                           const ModelInfo& info);

}  // namespace octavo::server
