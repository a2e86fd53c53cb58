// The tools that a response may call, in the terms of a chat completion.
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/custom_tools.h"

namespace octavo {

struct ResponseTools {
  ClientTools client_tools = {};  // custom tools, and those of namespaces
  std::vector<std::string> warnings = {};
};

/// Adds `tools` and `tool_choice` of a Responses body to the body of a chat, as functions. Tools that a server would
/// run are left out, with a warning for each. Errors: a tool or a choice of a wrong form; a choice of a tool that is
/// not there; two tools of one name.
ApiResult<ResponseTools> add_response_tools(const boost::json::object& body, boost::json::object& chat);

}  // namespace octavo
