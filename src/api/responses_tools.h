// The tools that a response may call.
//
// A free function without state; any thread.
#pragma once

#include "api/api_request.h"
#include "json/json_cursor.h"

namespace octavo {

/// `tools` and `tool_choice`, as functions: custom tools, and those of namespaces, are in AskedTools::client_tools.
/// Tools that a server would run are left out, with a warning for each. Errors: a tool or a choice of a wrong form; a
/// choice of a tool that is not there; two tools of one name.
ApiResult<void> read_response_tools(const JsonCursor& tools, const JsonCursor& choice, ApiRequest& request);

}  // namespace octavo
