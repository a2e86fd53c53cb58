// Items of OpenAI's Responses API that are not made here: tools that another server ran, calls of tools that only some
// models know, and what nobody but their maker can read. One row for each kind says what it becomes.
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "api/call/history_parts.h"
#include "json/json_cursor.h"

namespace octavo {

/// The types of items that have tools: those that a client gives in its input, and those that a search has found.
inline constexpr std::string_view kAdditionalTools = "additional_tools", kFoundTools = "tool_search_output";

/// The item as a message, a call of a function, its output, or one of the two types that have tools. Empty: it says
/// nothing. An item of an unknown type is a note, of which `history` warns.
boost::json::object read_foreign_item(const JsonCursor& item, std::string_view type, HistoryReader& history);

}  // namespace octavo
