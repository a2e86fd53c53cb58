// Tools as the APIs offer them, and the choice among them.
//
// Free functions without state; any thread.
#pragma once

#include <string>
#include <string_view>

#include "api/call/api_field.h"

namespace octavo {

/// Whether a choice of tools is "none": they are not described either.
bool is_none(const JsonCursor& choice);

/// The 400 of a tool's name that formats of calls cannot carry.
ApiError wrong_tool_name(const std::string& field, std::optional<std::string_view> found);

/// The `function` of a tool, whose `type` is no other. `what` it is and which members it has, for errors.
ApiResult<JsonCursor> function_in(const JsonCursor& tool, std::string_view what, std::string_view members);

/// The name of a function, its schema and how strictly it is meant; AskedTool::described is left to the caller.
ApiResult<AskedTool> read_function(const JsonCursor& function, std::string_view schema_name = "parameters");

/// {"type": "function", "function": FUNCTION}
TemplateValue described_as_function(TemplateValue function);

/// The one tool that must be called. `given` is where its name stands. Error: there is none of the name.
ApiResult<void> choose_tool(AskedTools& tools, std::string_view name, const JsonCursor& given,
                            std::string_view kind = "tools");

namespace field {

/// OpenAI's fields of a chat.
void take_tools(FieldReader& reader, const ApiField& field);
/// Takes the tools of a conversation that is not answered, as they are.
void take_described_tools(FieldReader& reader, const ApiField& field);
void take_tool_choice(FieldReader& reader, const ApiField& field);
void take_functions(FieldReader& reader, const ApiField& field);
void take_function_call(FieldReader& reader, const ApiField& field);
/// Refuses these fields in a completion, where they would have no effect.
void refuse_tools(FieldReader& reader, const ApiField& field);
void refuse_tool_choice(FieldReader& reader, const ApiField& field);

}  // namespace field

/// The parts of OpenAI's tools and of the functions that were their first form.
extern const FieldTable kToolPartFields;
extern const FieldTable kFunctionPartFields;

}  // namespace octavo
