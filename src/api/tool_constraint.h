// The constraint of answers that call tools: those that must, and calls of tools that are strict.
//
// Free functions without state; they run on any thread.
#pragma once

#include <optional>
#include <string_view>

#include "api/openai_request.h"
#include "api/tool_calling.h"

namespace octavo {

/// The one token that a text is, if it is one.
std::optional<TokenId> token_of(std::string_view text, const Engine& engine);

/// One of CompletionCall::constraints, where the choice asks for calls, a tool is strict, the format's calls are always
/// held, or `response_format` asks for a form of the content: it takes the place of one that `response_format` asks for
/// alone. The tools have been checked.
void hold_calls(JsonFields& fields, const Engine& engine, const ToolCalling& calling, const ToolChoice& choice,
                CompletionCall& call);

}  // namespace octavo
