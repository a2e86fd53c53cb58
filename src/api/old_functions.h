// OpenAI's first form of tools: `functions` that a chat may call, `function_call` to choose one, and `function_call` in
// messages. Clients that still send it want their answers in it.
//
// Free functions without state; any thread.
#pragma once

#include <array>
#include <boost/json/object.hpp>

#include "api/api_error.h"
#include "api/own_field_names.h"

namespace octavo {

/// The fields of tools by which these clients know them, for errors.
inline constexpr std::array<OwnFieldName, 2> kFunctionNames = {{
    {.chat = "tools", .own = "functions"},
    {.chat = "tool_choice", .own = "function_call"},
}};

/// Whether a chat's body offers functions.
bool has_functions(const boost::json::object& body);

/// Puts `tools` in the place of `functions`, and `tool_choice` in that of `function_call`. An answer calls one at most:
/// the form has no room for more. Errors: they are of a wrong form; both forms are there.
ApiResult<void> make_tools_of_functions(boost::json::object& body);

}  // namespace octavo
