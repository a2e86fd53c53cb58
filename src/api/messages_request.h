// A body of Anthropic's Messages API in the terms of a chat completion.
// https://docs.anthropic.com/en/api/messages
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/api_error.h"
#include "api/completion_body.h"
#include "octavo/engine.h"

namespace octavo {

/// The body that /v1/chat/completions takes for the same. Errors: fields of a wrong type, and what a text model cannot
/// do. `needs_length`: max_tokens must be there, as for an answer; not where tokens are counted.
ApiResult<CompletionBody> chat_of_messages(const boost::json::object& body, const ModelInfo& info, bool needs_length);

}  // namespace octavo
