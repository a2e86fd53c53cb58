// Tools in the forms that the APIs share, and the choice among them.
//
// Free functions without state; any thread.
#pragma once

#include <string>
#include <string_view>

#include "api/call/api_field.h"

namespace octavo {

/// Whether a tool choice is "none": the tools are not even described then.
bool is_none(const JsonCursor& choice);

/// The error (400) of a tool's name that formats of calls cannot carry.
ApiError wrong_tool_name(const std::string& field, std::optional<std::string_view> found);

/// The member `function` of a tool whose `type` is "function" or absent. `what` and `members` are for errors: what the
/// tool is, and which members a function has.
ApiResult<JsonCursor> function_in(const JsonCursor& tool, std::string_view what, std::string_view members);

/// Reads a function's name, schema and strictness; the caller sets AskedTool::described.
ApiResult<AskedTool> read_function(const JsonCursor& function, std::string_view schema_name = "parameters");

/// {"type": "function", "function": FUNCTION} in the form of templates.
TemplateValue described_as_function(TemplateValue function);

/// Sets the one tool that must be called. `given`: where its name stands. Error: no tool has the name.
ApiResult<void> choose_tool(AskedTools& tools, std::string_view name, const JsonCursor& given,
                            std::string_view kind = "tools");

namespace field {

/// Read OpenAI's fields of tools in a chat.
void take_tools(FieldReader& reader, const ApiField& field);
/// Reads the tools of a conversation that is not answered: they are only described.
void take_described_tools(FieldReader& reader, const ApiField& field);
void take_tool_choice(FieldReader& reader, const ApiField& field);
void take_functions(FieldReader& reader, const ApiField& field);
void take_function_call(FieldReader& reader, const ApiField& field);
/// Refuses fields of tools in a completion, where they would have no effect.
void refuse_tools(FieldReader& reader, const ApiField& field);
void refuse_tool_choice(FieldReader& reader, const ApiField& field);

}  // namespace field

/// The members of OpenAI's `tools` and of the older `functions`.
extern const FieldTable kToolPartFields;
extern const FieldTable kFunctionPartFields;

}  // namespace octavo
