// The tools that a response may call.
//
// A free function without state; any thread.
#pragma once

#include <span>

#include "api/call/api_request.h"
#include "api/responses/responses_items.h"
#include "json/json_cursor.h"

namespace octavo {

/// `tools`, those that `items` have, and `tool_choice`, as functions: custom tools, and those of namespaces, are in
/// AskedTools::client_tools. Tools that a server would run are left out, with a warning for each, and so are those of
/// items that are of a wrong form: a conversation repeats its items. A tool of an item takes the place of an earlier
/// one of its name. Errors: a tool in `tools` or a choice of a wrong form; a choice of a tool that is not there; two
/// tools of one name in `tools`.
ApiResult<void> read_response_tools(const JsonCursor& tools, std::span<const ConversationItem> items,
                                    const JsonCursor& choice, ApiRequest& request);

}  // namespace octavo
