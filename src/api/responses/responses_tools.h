// The tools that a response may call.
//
// A free function without state; any thread.
#pragma once

#include <span>

#include "api/call/api_request.h"
#include "api/responses/responses_items.h"
#include "json/json_cursor.h"

namespace octavo {

/// Reads `tools`, the tools of `items`, and `tool_choice`. Tools become functions; for custom tools and those in
/// namespaces, the client's form is in AskedTools::client_tools. Tools that a server would run are left out, each with
/// a warning, and so are tools of items with a wrong form, since a conversation repeats its items. A tool of an item
/// replaces an earlier one with its name. Errors: a tool in `tools`, or a choice, has a wrong form; the choice names a
/// tool that is not there; two tools in `tools` have one name.
ApiResult<void> read_response_tools(const JsonCursor& tools, std::span<const ConversationItem> items,
                                    const JsonCursor& choice, ApiRequest& request);

}  // namespace octavo
