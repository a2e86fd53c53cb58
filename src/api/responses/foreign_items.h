// Items of OpenAI's Responses API that this server never makes: tools that another server ran, calls of tools that only
// some models know, and items that only their maker can read. A row for each kind says what it becomes.
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "api/call/history_parts.h"
#include "json/json_cursor.h"

namespace octavo {

/// The types of items with tools: those that a client gives in its input, and those that a search has found.
inline constexpr std::string_view kAdditionalTools = "additional_tools", kFoundTools = "tool_search_output";

/// The item as a message, a call of a function, an output, or one of the two types with tools. Empty: the item says
/// nothing. An item of an unknown type becomes a note, and `history` warns of it.
boost::json::object read_foreign_item(const JsonCursor& item, std::string_view type, HistoryReader& history);

}  // namespace octavo
