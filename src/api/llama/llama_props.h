// GET /props of llama.cpp's server: what the model is, and the settings for answers that give none.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/completion.h"
#include "octavo/model_info.h"

namespace octavo {

boost::json::object llama_props(const ServedModel& model, const ModelInfo& info);

}  // namespace octavo
