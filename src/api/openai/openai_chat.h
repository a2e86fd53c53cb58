// The bodies of OpenAI's chats, with what vLLM and llama.cpp have added.
// https://platform.openai.com/docs/api-reference/chat/create
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/api_field.h"
#include "api/call/completion.h"

namespace octavo {

/// The fields of POST /v1/chat/completions.
ApiFields openai_chat_fields();
ApiResult<ApiRequest> read_openai_chat(const boost::json::object& body, const ApiContext& context);
/// The fields of a chat that make its prompt, and the function that reads them: for bodies whose tokens are counted.
ApiFields openai_conversation_fields();
ApiResult<ApiRequest> read_openai_conversation(const boost::json::object& body, const ApiContext& context);

/// Reads a body and prepares the call.
ApiResult<CompletionCall> parse_chat_completion(const boost::json::object& body, const ModelText& words,
                                                const ServedModel& model);

}  // namespace octavo
