// Tools that a client knows in other forms than models do, to which all are functions: OpenAI's custom tools, whose
// calls have a text in place of arguments, and tools of a namespace.
//
// Free functions without state, and immutable values; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "api/call/api_error.h"
#include "api/call/warnings.h"
#include "json/json_cursor.h"

namespace octavo {

/// A tool as its client knows it.
struct ClientTool {
  std::string name = {};
  std::string space = {};  // its namespace; empty: none
  bool is_custom = false;
};

/// The tools by the names of the functions that stand for them. Plain functions are not among them.
using ClientTools = std::map<std::string, ClientTool, std::less<>>;

/// The member of a custom tool's format that has its grammar, from which the schema of its inputs is made.
inline constexpr std::string_view kGrammarDefinition = "definition";

/// The parameter of the function that stands for a custom tool.
inline constexpr std::string_view kCustomInput = "input";

/// Whether a tool, a choice of one or a call says that it is of the type `custom`.
bool is_custom_form(const boost::json::value& value);

/// The function's arguments for an input, in JSON.
std::string arguments_of_input(std::string_view input);

/// The name of the function that stands for a tool of a namespace: "space__name".
std::string qualified_name(std::string_view space, std::string_view name);

/// The member `custom` of a tool or of a call of that type, with these members.
ApiResult<JsonCursor> custom_in(const JsonCursor& holder, std::string_view members);

struct AskedTool;
/// The function that stands for a custom tool with `name`, `description` and `format`: of chats, where a grammar is an
/// object, or of responses, where it is not. Inputs of a regular expression are held to it; a grammar in Lark is shown
/// to the model alone, and a warning says so. Error: it is of a wrong form.
ApiResult<AskedTool> read_custom_tool(const JsonCursor& custom, Warnings& warnings);

}  // namespace octavo
