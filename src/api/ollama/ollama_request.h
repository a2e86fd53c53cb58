// The bodies of ollama's /api/chat and /api/generate.
// https://github.com/ollama/ollama/blob/main/docs/api.md
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "api/call/api_field.h"

namespace octavo {

/// The fields of POST /api/chat. A body without messages loads or unloads the model.
ApiFields ollama_chat_fields();
ApiResult<ApiRequest> read_ollama_chat(const boost::json::object& body, const ApiContext& context);

/// The fields of POST /api/generate. A body without a prompt loads or unloads the model.
ApiFields ollama_generate_fields();
ApiResult<ApiRequest> read_ollama_generate(const boost::json::object& body, const ApiContext& context);

namespace field {

void take_named_model(FieldReader& reader, const ApiField& field);
void take_keep_alive(FieldReader& reader, const ApiField& field);

constexpr ApiField named_by_tag() {
  return string("model", "the first that answers such calls",
                "an id in /api/tags, or an alias; `:latest` behind it says nothing", take_named_model);
}
constexpr ApiField keep_alive() {
  return any("keep_alive", "the server's",
             "how long the model stays in memory after the request: seconds, or a text such as `5m` or `1h30m`; below "
             "0: for ever; 0: until the answer is made",
             take_keep_alive);
}
}  // namespace field

/// A model's name without ":latest", which ollama's clients append to names that have no tag.
std::string without_latest(std::string_view name);

}  // namespace octavo
