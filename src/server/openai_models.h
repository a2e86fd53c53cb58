// GET /v1/models and /v1/models/{id}: the models of the server in the form of OpenAI's API.
//
// Free functions without state; the I/O thread.
#pragma once

#include <boost/json/object.hpp>
#include <list>

#include "server/model_slot.h"

namespace octavo::server {

/// A model in OpenAI's form, with the fields that vLLM (max_model_len) and llama.cpp (status) add. No model is loaded
/// for it. `policy`: that of all requests.
boost::json::object openai_model(const ModelSlot& slot, const RequestPolicy& policy);
boost::json::object openai_models(const std::list<ModelSlot>& models, const RequestPolicy& policy);

}  // namespace octavo::server
