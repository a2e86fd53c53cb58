// Bodies of llama.cpp's server in the terms of a completion, and gaps in texts, whichever API asks for them.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// Free functions without state; they run on any thread (they tokenize).
#pragma once

#include <boost/json/object.hpp>

#include "api/api_error.h"
#include "api/completion_body.h"
#include "octavo/engine.h"

namespace octavo {

/// Of POST /completion: `prompt`, `n_predict`, and the samplers, whose names are the same.
ApiResult<CompletionBody> completion_of_llama(const boost::json::object& body);

/// Of POST /infill: the prompt is that of a gap between `input_prefix` and `prompt`, and `input_suffix`, with the other
/// files of `input_extra` in front, as far as they fit. Errors: 501, the model fills no gaps.
ApiResult<CompletionBody> completion_of_infill(const boost::json::object& body, const Engine& engine);

/// A completion with a `suffix`, in the form of the body of one without: the text goes on from `prompt` to there.
/// Errors: the same.
ApiResult<CompletionBody> completion_of_suffix(const boost::json::object& body, const Engine& engine);
/// Whether the body has one.
bool has_suffix(const boost::json::object& body);

}  // namespace octavo
