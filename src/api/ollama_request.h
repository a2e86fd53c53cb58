// Bodies of ollama's /api/chat and /api/generate in the terms of OpenAI's API.
// https://github.com/ollama/ollama/blob/main/docs/api.md
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/completion_body.h"

namespace octavo {

/// The body that /v1/chat/completions takes for the same; without messages, the model is to be loaded. Errors: fields
/// of a wrong type, and what a text model cannot do. `context`: tokens that it may have; options.num_ctx beyond it is
/// a warning.
ApiResult<CompletionBody> chat_of_ollama_chat(const boost::json::object& body, int context);

struct OllamaGenerate {
  bool is_raw = false;            // `body` is one of /v1/completions, else of a chat
  bool asks_for_nothing = false;  // no prompt: the model is to be loaded, as it is
  boost::json::object body = {};
  std::vector<std::string> warnings = {};
};
/// The same of /api/generate.
ApiResult<OllamaGenerate> completion_of_ollama_generate(const boost::json::object& body, int context);

/// A model's name without the tag that ollama's clients add where a name has none.
std::string without_latest(std::string_view name);

}  // namespace octavo
