#include "api/call/custom_tools.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "api/call/template_names.h"
#include "api/call/tool_fields.h"
#include "base/error.h"
#include "json/json_string.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// The form that a tool wants its inputs to have.
struct InputFormat {
  std::string_view syntax = {};  // empty: any text
  std::string_view definition = {};
  std::string place = {};  // where the definition stands in the body
};

ApiResult<InputFormat> read_format(const JsonCursor& format) {
  OCTAVO_TRY(const json::object* given, to_api_result(format.object()));
  if (given == nullptr) return InputFormat();
  OCTAVO_TRY(const std::string_view type, to_api_result(format["type"].needed_string()));
  if (type == "text") return InputFormat();
  if (type != "grammar") return refused(format["type"].wrong_value("text or grammar"));
  const JsonCursor nested = format["grammar"];
  OCTAVO_TRY_VOID(to_api_result(nested.object()));
  const JsonCursor& grammar = nested.is_given() ? nested : format;
  InputFormat read;
  OCTAVO_TRY(read.syntax, to_api_result(grammar["syntax"].needed_string()));
  OCTAVO_TRY(read.definition, to_api_result(grammar[kGrammarDefinition].needed_string()));
  read.place = grammar[kGrammarDefinition].path();
  if (read.syntax != "regex" && read.syntax != "lark") return refused(grammar["syntax"].wrong_value("regex or lark"));
  return read;
}

/// The schema of a function whose only argument is the input.
json::object parameters_of(json::object input) {
  return {{"type", "object"},
          {"properties", {{kCustomInput, std::move(input)}}},
          {"required", json::array{kCustomInput}},
          {"additionalProperties", false}};
}

}  // namespace

bool is_custom_form(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  return type != nullptr && type->is_string() && type->get_string() == "custom";
}

std::string arguments_of_input(std::string_view input) {
  std::string arguments = fmt::format("{{\"{}\": ", kCustomInput);
  append_json_string(arguments, input);
  return arguments + '}';
}

std::string qualified_name(std::string_view space, std::string_view name) {
  constexpr std::string_view kBetween = "__";
  return fmt::format("{}{}{}", space, space.empty() || space.ends_with(kBetween) ? "" : kBetween, name);
}

ApiResult<JsonCursor> custom_in(const JsonCursor& holder, std::string_view members) {
  const JsonCursor custom = holder["custom"];
  OCTAVO_TRY(const json::object* given, to_api_result(custom.object()));
  if (given != nullptr) return ApiResult<JsonCursor>(custom);
  if (holder["function"].is_given()) return refused(holder["type"].wrong_value("\"function\""));
  return refused(custom.wrong_value(fmt::format("an object with {}", members), "missing_required_parameter"));
}

ApiResult<AskedTool> read_custom_tool(const JsonCursor& custom, Warnings& warnings) {
  OCTAVO_TRY(const auto name, to_api_result(custom["name"].string()));
  OCTAVO_TRY(const auto about, to_api_result(custom["description"].string()));
  if (!name || !may_name_a_tool(*name)) return std::unexpected(wrong_tool_name(custom["name"].path(), name));
  OCTAVO_TRY(InputFormat format, read_format(custom["format"]));
  std::string description(about.value_or(""));
  json::object input{{"type", "string"}, {"description", "The whole input of the tool."}};
  const bool is_regex = format.syntax == "regex";
  if (!format.syntax.empty())
    description +=
        fmt::format("{}The input has the form of this {}:\n{}", description.empty() ? "" : "\n\n",
                    is_regex ? "regular expression" : "grammar, which is in Lark's syntax", format.definition);
  if (is_regex) {
    input["pattern"] = fmt::format("^(?:{})$", format.definition);
  } else if (!format.syntax.empty()) {
    warnings.push_back(fmt::format("{}: the grammar in Lark's syntax is not enforced: the model is shown it",
                                   custom["format"].path()));
  }
  AskedTool tool{.name = std::string(*name),
                 .parameters = std::make_shared<const json::object>(parameters_of(std::move(input))),
                 .origin = std::move(format.place),
                 .is_strict = is_regex};
  TemplateDict function{{"name", tool.name}, {"parameters", template_value(*tool.parameters)}};
  if (!description.empty()) function.emplace_back("description", std::move(description));
  if (is_regex) function.emplace_back("strict", true);
  tool.described = described_as_function(std::move(function));
  return tool;
}

}  // namespace octavo
