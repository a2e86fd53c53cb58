// Calls of tools in the answers of a chat.
//
// Immutable; belongs to a call.
#pragma once

#include "api/call/custom_tools.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {

struct ToolCalling {
  const ToolFormat* format = nullptr;  // a row of the table of formats
  ToolSet tools = {};
  bool is_single = false;  // an answer has one call at most
  ToolCallParser::Sure sure = ToolCallParser::Sure::kNothing;
  ClientTools client_tools = {};
};

}  // namespace octavo
