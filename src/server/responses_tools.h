// The tools that a response may call, in the terms of a chat completion.
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "server/api_error.h"

namespace octavo::server {

/// Adds `tools` and `tool_choice` of a Responses body to the body of a chat. Tools that are no functions (a server
/// would run them, or the client in a form of its own) are left out, with a warning for each. Errors: a tool or a
/// choice of a wrong form; a choice of a tool that is not there.
ApiResult<std::vector<std::string>> add_response_tools(const boost::json::object& body, boost::json::object& chat);

}  // namespace octavo::server
