// The bodies of requests to llama.cpp's server.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/api_field.h"

namespace octavo {

/// The fields of POST /completion: `prompt`, `n_predict`, and the samplers.
ApiFields llama_completion_fields();
ApiResult<ApiRequest> read_llama_completion(const boost::json::object& body, const ApiContext& context);

/// The fields of POST /infill. The prompt is the gap between `input_prefix` with `prompt` and `input_suffix`, after as
/// much of the files in `input_extra` as has room.
ApiFields llama_infill_fields();
ApiResult<ApiRequest> read_llama_infill(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo
