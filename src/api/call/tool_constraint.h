// The constraint of answers that call tools: those that must, and calls of tools that are strict.
//
// Free functions without state; they run on any thread.
#pragma once

#include <optional>
#include <string_view>

#include "api/call/completion.h"
#include "api/call/tool_calling.h"

namespace octavo {

/// The one token that a text is, if it is one.
std::optional<TokenId> token_of(std::string_view text, const ModelText& words);

/// What hold_calls() makes sure of the answer's calls. The call has the request's own constraint, if any.
ToolCallParser::Sure sure_of_calls(const AskedTools& asked, const ToolFormat& format, const CompletionCall& call);

/// CompletionCall::constraint, where the choice asks for calls, a tool is strict, the format's calls are always
/// held, or the request asks for a form of the content: it takes the place of one that is of the content. The call has
/// its tools. Error: the request asks for another form.
ApiResult<void> hold_calls(const AskedTools& asked, const ModelText& words, CompletionCall& call);

}  // namespace octavo
