// Tools that clients know in another form than models, for which every tool is a function: OpenAI's custom tools, whose
// calls have a text in place of arguments, and tools in a namespace.
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

/// The tools by the names of their functions. Plain functions are not in it.
using ClientTools = std::map<std::string, ClientTool, std::less<>>;

/// The name of the member of a format that has the grammar from which the schema of a custom tool's inputs is made.
inline constexpr std::string_view kGrammarDefinition = "definition";

/// The name of the only parameter of a function that stands for a custom tool.
inline constexpr std::string_view kCustomInput = "input";

/// Whether a tool, a tool choice or a call has the type `custom`.
bool is_custom_form(const boost::json::value& value);

/// The arguments, as JSON, of the function that stands for a custom tool with this input.
std::string arguments_of_input(std::string_view input);

/// The name of the function that stands for a tool in a namespace: "space__name".
std::string qualified_name(std::string_view space, std::string_view name);

/// The member `custom` of a tool or of a call with that type. `members`: its own members, for errors.
ApiResult<JsonCursor> custom_in(const JsonCursor& holder, std::string_view members);

struct AskedTool;
/// The function that stands for a custom tool with `name`, `description` and `format`; in chats a grammar is an object
/// in `format`, in responses it is not. A regular expression is enforced on inputs; a Lark grammar is only shown to the
/// model, and a warning says so. Error: the tool has a wrong form.
ApiResult<AskedTool> read_custom_tool(const JsonCursor& custom, Warnings& warnings);

}  // namespace octavo
