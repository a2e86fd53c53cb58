// The constraint on answers with calls of tools: where an answer must call, or tools are strict.
//
// Free functions without state; they run on any thread.
#pragma once

#include <optional>
#include <string_view>

#include "api/call/completion.h"
#include "api/call/tool_calling.h"

namespace octavo {

/// The single token that `text` becomes; nothing: it becomes several or none.
std::optional<TokenId> token_of(std::string_view text, const ModelText& words);

/// The guarantees of hold_calls() for the answer's calls. `call` still has the request's own constraint, if any.
ToolCallParser::Sure sure_of_calls(const AskedTools& asked, const ToolFormat& format, const CompletionCall& call);

/// Sets CompletionCall::constraint where the choice demands calls, a tool is strict, the format's calls are always
/// held, or the request asks for a form of the content: that constraint is replaced by one that includes it. The call
/// has its tools. Error: the request asks for another form.
ApiResult<void> hold_calls(const AskedTools& asked, const ModelText& words, CompletionCall& call);

}  // namespace octavo
