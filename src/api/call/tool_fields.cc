#include "api/call/tool_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/call/schema_shape.h"
#include "api/call/template_names.h"
#include "base/error.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// Reads a tool of OpenAI's chats: a function, or a custom tool. Where `is_called` is false, a tool is only described,
/// in whatever form it has.
ApiResult<AskedTool> read_tool(const JsonCursor& tool, bool is_called, ApiRequest& request) {
  if (tool.is_given() && is_custom_form(*tool.value())) {
    OCTAVO_TRY(const JsonCursor custom, custom_in(tool, "a name"));
    OCTAVO_TRY(AskedTool made, read_custom_tool(custom, request.warnings));
    request.tools.client_tools[made.name] = {.name = made.name, .is_custom = true};
    return made;
  }
  OCTAVO_TRY_VOID(to_api_result(tool.needed_object("a tool (an object)")));
  AskedTool read;
  if (is_called) {
    OCTAVO_TRY(const JsonCursor function, function_in(tool, "a tool (an object)", "a name"));
    OCTAVO_TRY(read, read_function(function));
  }
  read.described = template_value(*tool.value());
  return read;
}

/// Refuses a name that a custom tool shares with another tool: answers could not tell the two apart.
ApiResult<void> check_names(const AskedTools& tools, const JsonCursor& given) {
  if (tools.client_tools.empty()) return {};
  std::set<std::string_view> names;
  for (const AskedTool& tool : tools.tools)
    if (!names.insert(tool.name).second && tools.client_tools.contains(tool.name))
      return refused(
          given.error(fmt::format("found {} twice, expected a name for each", describe_json(json::value(tool.name)))));
  return {};
}

ApiResult<void> read_tools(FieldReader& reader, const JsonCursor& given, bool are_called) {
  OCTAVO_TRY(const json::array* array, to_api_result(given.array("an array of tools")));
  if (array == nullptr) return {};
  AskedTools& tools = reader.request.tools;
  tools.are_given = true;
  tools.tools.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    OCTAVO_TRY(tools.tools.emplace_back(), read_tool(given[i], are_called, reader.request));
  }
  if (are_called && !tools.tools.empty()) tools.choice.mode = ToolChoice::Mode::kAuto;
  return check_names(tools, given);
}

/// Reads the name in {"type": "function", "function": {"name": ...}}, or in the same form with "custom".
ApiResult<void> read_chosen(FieldReader& reader, const JsonCursor& choice) {
  OCTAVO_TRY(const auto type, to_api_result(choice["type"].string()));
  if (type && *type != "function" && *type != "custom")
    return refused(choice["type"].wrong_value("\"function\"", "unsupported_parameter"));
  const JsonCursor named = choice[type.value_or("function")];
  OCTAVO_TRY_VOID(to_api_result(named.object()));
  OCTAVO_TRY(const auto name, to_api_result(named["name"].string()));
  if (!name) return refused(named["name"].wrong_value("the name of a tool"));
  return choose_tool(reader.request.tools, *name, named["name"]);
}

ApiResult<void> read_choice(FieldReader& reader, const JsonCursor& choice) {
  AskedTools& tools = reader.request.tools;
  const json::string* mode = choice.if_string();
  if (is_none(choice)) return {};
  if (!choice.is_given() || (mode != nullptr && *mode == "auto")) return {};  // as it is
  if (tools.tools.empty())
    return refused(choice.error(
        fmt::format("found {} without tools, expected \"none\" or \"auto\"", describe_json(*choice.value()))));
  tools.choice.mode = ToolChoice::Mode::kRequired;
  if (mode != nullptr && *mode == "required") return {};
  if (choice.if_object() == nullptr)
    return refused(choice.wrong_value("\"none\", \"auto\", \"required\" or a function's name in an object"));
  return read_chosen(reader, choice);
}

bool is_asked(const JsonCursor& given) {
  const json::array* array = given.if_array();
  return given.is_given() && !(array != nullptr && array->empty());
}

/// Reads `functions`, OpenAI's older form of tools. An answer has at most one such call: its form has no room for more.
ApiResult<void> read_functions(FieldReader& reader, const JsonCursor& given) {
  AskedTools& tools = reader.request.tools;
  const bool are_asked = is_asked(given) || is_asked(reader.at("function_call"));
  if (!are_asked || tools.are_functions) return {};
  const JsonCursor older = is_asked(given) ? given : reader.at("function_call");
  for (const std::string_view newer : {"tools", "tool_choice"})
    if (is_asked(reader.at(newer)))
      return refused(older.error(fmt::format("found it beside {}, expected one of them: they are the same", newer)));
  tools.are_given = tools.are_functions = tools.is_single = true;
  tools.field = "functions";
  tools.choice_field = "function_call";
  OCTAVO_TRY(const json::array* array, to_api_result(given.array("an array of functions")));
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    OCTAVO_TRY_VOID(to_api_result(given[i].needed_object("a function (an object)")));
    OCTAVO_TRY(AskedTool tool, read_function(given[i]));
    tool.described = described_as_function(template_value(*given[i].value()));
    tools.tools.push_back(std::move(tool));
  }
  if (!tools.tools.empty() && !is_none(reader.at("function_call"))) tools.choice.mode = ToolChoice::Mode::kAuto;
  return {};
}

/// Reads `function_call`: "auto", "none", or {"name": ...} with the name of one of the functions.
ApiResult<void> read_function_choice(FieldReader& reader, const JsonCursor& choice) {
  OCTAVO_TRY_VOID(read_functions(reader, reader.at("functions")));  // there may be none
  AskedTools& tools = reader.request.tools;
  if (!choice.is_given() || is_none(choice) || *choice.value() == "auto") return {};
  if (choice.if_object() == nullptr)
    return refused(choice.wrong_type("\"auto\", \"none\", or a function's name in an object"));
  OCTAVO_TRY(const std::string_view name, to_api_result(choice["name"].needed_string()));
  return choose_tool(tools, name, choice["name"], "functions");
}

}  // namespace

bool is_none(const JsonCursor& choice) { return choice.is_given() && *choice.value() == "none"; }

ApiError wrong_tool_name(const std::string& field, std::optional<std::string_view> found) {
  return invalid_value(field,
                       fmt::format("{}: found {}, expected a word of 1 to {} bytes without brackets and quotes", field,
                                   found ? describe_json(json::value(*found)) : "none", CallReader::kMaxNameBytes));
}

ApiResult<JsonCursor> function_in(const JsonCursor& tool, std::string_view what, std::string_view members) {
  OCTAVO_TRY_VOID(to_api_result(tool.needed_object(what)));
  OCTAVO_TRY(const auto type, to_api_result(tool["type"].string()));
  const JsonCursor function = tool["function"];
  OCTAVO_TRY(const json::object* given, to_api_result(function.object()));
  if (type && *type != "function")
    return std::unexpected(to_api_error(tool["type"].wrong_value("\"function\"", "unsupported_parameter")));
  if (given == nullptr)
    return std::unexpected(to_api_error(function.wrong_value(fmt::format("an object with {}", members))));
  return ApiResult<JsonCursor>(function);
}

ApiResult<AskedTool> read_function(const JsonCursor& function, std::string_view schema_name) {
  OCTAVO_TRY(const auto name, to_api_result(function["name"].string()));
  OCTAVO_TRY(const json::object* parameters, to_api_result(function[schema_name].object()));
  OCTAVO_TRY(const auto is_strict, to_api_result(function["strict"].boolean()));
  OCTAVO_TRY_VOID(to_api_result(function["description"].string()));
  if (!name || !may_name_a_tool(*name)) return std::unexpected(wrong_tool_name(function["name"].path(), name));
  AskedTool tool{.name = std::string(*name), .is_strict = is_strict.value_or(false)};
  if (parameters == nullptr) return tool;
  tool.parameters = {std::shared_ptr<void>(), parameters};  // points into the body, which outlives it
  tool.origin = function[schema_name].path();
  if (auto mistake = mistake_in_schema(*parameters, tool.origin))
    return std::unexpected(invalid_value(std::move(mistake->place), std::move(mistake->text)));
  return tool;
}

TemplateValue described_as_function(TemplateValue function) {
  return TemplateDict{{"type", std::string("function")}, {"function", std::move(function)}};
}

ApiResult<void> choose_tool(AskedTools& tools, std::string_view name, const JsonCursor& given, std::string_view kind) {
  if (std::ranges::find(tools.tools, name, &AskedTool::name) == tools.tools.end())
    return refused(given.wrong_value(fmt::format("the name of one of the {}", kind)));
  tools.choice = {.mode = ToolChoice::Mode::kRequired, .only = std::string(name)};
  return {};
}

namespace field {

void take_tools(FieldReader& reader, const ApiField& field) {
  const bool are_called = !is_none(reader.at("tool_choice"));
  reader.keep(read_tools(reader, reader.at(field.path), are_called));
}

void take_described_tools(FieldReader& reader, const ApiField& field) {
  reader.keep(read_tools(reader, reader.at(field.path), false));
}

void take_tool_choice(FieldReader& reader, const ApiField& field) {
  if (!reader.request.tools.are_functions) reader.keep(read_choice(reader, reader.at(field.path)));
}

void take_functions(FieldReader& reader, const ApiField& field) {
  reader.keep(read_functions(reader, reader.at(field.path)));
}

void take_function_call(FieldReader& reader, const ApiField& field) {
  reader.keep(read_function_choice(reader, reader.at(field.path)));
}

void refuse_tools(FieldReader& reader, const ApiField& field) {
  const std::string_view choice = field.path == "functions" ? "function_call" : "tool_choice";
  const JsonCursor tools = reader.at(field.path);
  if (is_none(reader.at(choice)) || !is_asked(tools)) return;
  reader.refuse(
      tools.error(fmt::format("tools are called in chats alone, by the field tools; leave them out, or set {} "
                              "to \"none\"",
                              choice),
                  "unsupported_parameter"));
}

void refuse_tool_choice(FieldReader& reader, const ApiField& field) {
  const JsonCursor choice = reader.at(field.path);
  if (choice.is_given() && *choice.value() != "auto" && !is_none(choice))
    reader.refuse(choice.wrong_value("\"none\"", "unsupported_parameter"));
}

}  // namespace field

namespace {

constexpr std::string_view kName = "a word of 1 to 256 bytes without brackets and quotes";
constexpr std::string_view kAbout = "what it does, for the model";
constexpr std::string_view kParameters = "the JSON schema of its arguments";
constexpr std::string_view kStrict = "calls keep the schema exactly";
constexpr std::string_view kTypes[] = {"function", "custom"};
constexpr std::string_view kFormats[] = {"text", "grammar"};
constexpr std::string_view kSyntaxes[] = {"regex", "lark"};

constexpr ApiField kToolPartRows[] = {
    field::one_of("tools[].type", kTypes, "function", "the kind of tool"),
    field::object("tools[].function", "", "a function that the client runs"),
    field::needed(field::string("tools[].function.name", "", kName)),
    field::string("tools[].function.description", "", kAbout),
    field::object("tools[].function.parameters", "any object", kParameters),
    field::boolean("tools[].function.strict", "false", kStrict),
    field::object("tools[].custom", "", "a tool whose calls have a text in the place of arguments"),
    field::needed(field::string("tools[].custom.name", "", kName)),
    field::string("tools[].custom.description", "", kAbout),
    field::object("tools[].custom.format", "any text", "the form of the text"),
    field::needed(field::one_of("tools[].custom.format.type", kFormats, "", "whether it has a grammar")),
    field::object("tools[].custom.format.grammar", "", "the grammar"),
    field::needed(field::one_of("tools[].custom.format.grammar.syntax", kSyntaxes, "", "the grammar's language")),
    field::needed(field::string("tools[].custom.format.grammar.definition", "", "the grammar's text")),
};

constexpr ApiField kFunctionPartRows[] = {
    field::needed(field::string("functions[].name", "", kName)),
    field::string("functions[].description", "", kAbout),
    field::object("functions[].parameters", "any object", kParameters),
    field::boolean("functions[].strict", "false", kStrict),
};

}  // namespace

const FieldTable kToolPartFields = kToolPartRows;
const FieldTable kFunctionPartFields = kFunctionPartRows;

}  // namespace octavo
