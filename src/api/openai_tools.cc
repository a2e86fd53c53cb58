// Tools that a chat offers, and whether they may be called: OpenAI's tools, tool_choice and parallel_tool_calls.
#include <fmt/format.h>

#include <algorithm>

#include "api/openai_request.h"
#include "api/tool_calling.h"
#include "api/tool_constraint.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

ApiResult<void> check_tool(const JsonCursor& tool) {
  OCTAVO_TRY(const JsonCursor function, read_function(tool, "a tool (an object)", "a name"));
  OCTAVO_TRY(const auto called, to_api_result(function["name"].string()));
  OCTAVO_TRY_VOID(to_api_result(function["parameters"].object()));
  OCTAVO_TRY_VOID(to_api_result(function["strict"].boolean()));
  if (called && may_name_a_tool(*called)) return {};
  return std::unexpected(wrong_tool_name(function["name"].path(), called));
}

ApiResult<void> check_tools(const JsonCursor& tools) {
  OCTAVO_TRY(const json::array* array, to_api_result(tools.array("an array of tools")));
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) OCTAVO_TRY_VOID(check_tool(tools[i]));
  return {};
}

bool has_tools(const JsonFields& fields) {
  const json::value* tools = fields.find("tools");
  return tools != nullptr && tools->is_array() && !tools->get_array().empty();
}

/// The name in {"type": "function", "function": {"name": ...}}.
std::string read_chosen_name(JsonFields& fields) {
  const JsonCursor choice = fields["tool_choice"];
  const auto type = fields.take(choice["type"].string());
  const auto name = fields.take(choice["function"]["name"].string());
  if (fields.failed()) return {};
  if (type && *type != "function") {
    fields.refuse(unsupported("tool_choice", fmt::format("tool_choice.type: found {}, expected \"function\"",
                                                         describe_json(json::value(*type)))));
  } else if (!name) {
    fields.refuse(invalid_value("tool_choice", "tool_choice.function.name: found none, expected the name of a tool"));
  }
  if (fields.failed()) return {};
  for (const json::value& tool : fields.find("tools")->get_array())
    if (tool.at("function").at("name").get_string() == *name) return std::string(*name);
  fields.refuse(invalid_value("tool_choice",
                              fmt::format("tool_choice.function.name: found {}, expected the name of one of the tools",
                                          describe_json(json::value(*name)))));
  return {};
}

}  // namespace

ApiError wrong_tool_name(const std::string& field, std::optional<std::string_view> found) {
  return invalid_value(field,
                       fmt::format("{}: found {}, expected a word of 1 to {} bytes without brackets and quotes", field,
                                   found ? describe_json(json::value(*found)) : "none", CallReader::kMaxNameBytes));
}

ApiResult<JsonCursor> read_function(const JsonCursor& tool, std::string_view what, std::string_view members) {
  OCTAVO_TRY_VOID(to_api_result(tool.needed_object(what)));
  OCTAVO_TRY(const auto type, to_api_result(tool["type"].string()));
  const JsonCursor function = tool["function"];
  OCTAVO_TRY(const json::object* given, to_api_result(function.object()));
  if (type && *type != "function")
    return std::unexpected(to_api_error(tool["type"].wrong_value("\"function\"", "unsupported_parameter")));
  if (given == nullptr)
    return std::unexpected(to_api_error(function.wrong_value(fmt::format("an object with {}", members))));
  return function;
}

ToolChoice read_tool_choice(JsonFields& fields) {
  const json::value* choice = fields.find("tool_choice");
  const json::string* mode = choice == nullptr ? nullptr : choice->if_string();
  if (mode != nullptr && *mode == "none") return {};
  if (auto checked = check_tools(fields["tools"]); !checked) fields.refuse(std::move(checked.error()));
  const bool has_any = has_tools(fields);
  if (choice == nullptr || (mode != nullptr && *mode == "auto"))
    return {.mode = has_any ? ToolChoice::Mode::kAuto : ToolChoice::Mode::kNone};
  if (!has_any) {
    fields.refuse(invalid_value(
        "tool_choice",
        fmt::format("tool_choice: found {} without tools, expected \"none\" or \"auto\"", describe_json(*choice))));
  }
  if (mode != nullptr && *mode == "required") return {.mode = ToolChoice::Mode::kRequired};
  if (!choice->is_object()) {
    fields.refuse(invalid_value("tool_choice", fmt::format("tool_choice: found {}, expected \"none\", \"auto\", "
                                                           "\"required\" or a function's name in an object",
                                                           describe_json(*choice))));
    return {};
  }
  return {.mode = ToolChoice::Mode::kRequired, .only = read_chosen_name(fields)};
}

void read_tool_calling(JsonFields& fields, const Engine& engine, const TemplateValue& tools, const ToolChoice& choice,
                       ClientTools client_tools, CompletionCall& call, Request& request) {
  const ToolFormat* format = find_tool_format(engine.info().tool_format);
  if (format == nullptr) {
    return fields.refuse(
        unsupported("tools", "tools: this model has no chat template, so that it takes no conversation"));
  }
  const bool is_single = !fields.boolean("parallel_tool_calls", true) || !choice.only.empty();
  auto calling = std::make_shared<ToolCalling>(ToolCalling{
      .format = format, .tools = ToolSet(tools), .is_single = is_single, .client_tools = std::move(client_tools)});
  for (const std::string_view text : format->tokens)
    if (const auto token = token_of(text, engine)) request.shown_tokens.push_back(*token);
  if (const auto end = is_single ? token_of(format->end, engine) : std::nullopt) request.stop_tokens.push_back(*end);
  call.tools = std::move(calling);
}

void refuse_tools(JsonFields& fields, std::string_view name, std::string_view choice_name) {
  const json::value* choice = fields.find(choice_name);
  const json::string* mode = choice == nullptr ? nullptr : choice->if_string();
  if (mode != nullptr && *mode == "none") return;
  const json::value* tools = fields.find(name);
  if (tools != nullptr && !(tools->is_array() && tools->get_array().empty())) {
    return fields.refuse(unsupported(std::string(name), fmt::format("{}: tools are called in chats alone, by the field "
                                                                    "tools; leave them out, or set {} to \"none\"",
                                                                    name, choice_name)));
  }
  if (choice != nullptr && (mode == nullptr || *mode != "auto")) {
    fields.refuse(unsupported(std::string(choice_name),
                              fmt::format("{}: found {}, expected \"none\"", choice_name, describe_json(*choice))));
  }
}

}  // namespace octavo
