// Bodies of llama.cpp's server.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/api_field.h"

namespace octavo {

/// POST /completion: `prompt`, `n_predict`, and the samplers.
ApiFields llama_completion_fields();
ApiResult<ApiRequest> read_llama_completion(const boost::json::object& body, const ApiContext& context);

/// POST /infill: the prompt is that of a gap between `input_prefix` and `prompt`, and `input_suffix`, with the other
/// files of `input_extra` in front, as far as they fit.
ApiFields llama_infill_fields();
ApiResult<ApiRequest> read_llama_infill(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo
