#include "api/custom_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <set>
#include <utility>

#include "api/json_fields.h"
#include "api/json_writer.h"
#include "api/old_functions.h"
#include "api/openai_request.h"
#include "base/error.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// The form that a tool asks its inputs to have.
struct InputFormat {
  std::string_view syntax = {};  // empty: any text
  std::string_view definition = {};
};

ApiResult<InputFormat> read_format(JsonFields& custom) {
  const json::object* format = custom.object("format");
  if (custom.failed()) return std::unexpected(*custom.error());
  if (format == nullptr) return InputFormat();
  const std::string place = custom.path_of("format");
  JsonFields fields(*format, place);
  OCTAVO_TRY(const std::string_view type, fields.needed_string("type"));
  if (type == "text") return InputFormat();
  if (type != "grammar")
    return std::unexpected(invalid_value(place + ".type", fmt::format("{}.type: found {}, expected text or grammar",
                                                                      place, describe_json(json::value(type)))));
  const json::object* nested = fields.find("grammar") == nullptr ? nullptr : fields.object("grammar");
  if (fields.failed()) return std::unexpected(*fields.error());
  JsonFields grammar(nested == nullptr ? *format : *nested, nested == nullptr ? place : place + ".grammar");
  InputFormat read;
  OCTAVO_TRY(read.syntax, grammar.needed_string("syntax"));
  OCTAVO_TRY(read.definition, grammar.needed_string("definition"));
  if (read.syntax == "regex" || read.syntax == "lark") return read;
  const std::string field = grammar.path_of("syntax");
  return std::unexpected(invalid_value(
      field, fmt::format("{}: found {}, expected regex or lark", field, describe_json(json::value(read.syntax)))));
}

/// The object `custom` of a tool or of a choice.
ApiResult<const json::object*> read_custom(const json::object& holder, const std::string& place) {
  JsonFields fields(holder, place);
  const json::object* custom = fields.object("custom");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (custom == nullptr) return std::unexpected(missing_field(place + ".custom", "an object with a name"));
  return custom;
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

ApiResult<json::object> function_of_custom(const json::object& custom, const std::string& place,
                                           std::vector<std::string>& warnings) {
  JsonFields fields(custom, place);
  const auto name = fields.string("name");
  std::string description(fields.string("description").value_or(""));
  if (fields.failed()) return std::unexpected(*fields.error());
  if (!name || !may_name_a_tool(*name)) return std::unexpected(wrong_tool_name(place + ".name", name));
  OCTAVO_TRY(const InputFormat format, read_format(fields));
  json::object input{{"type", "string"}, {"description", "The whole input of the tool."}};
  const bool is_regex = format.syntax == "regex";
  if (!format.syntax.empty())
    description +=
        fmt::format("{}The input has the form of this {}:\n{}", description.empty() ? "" : "\n\n",
                    is_regex ? "regular expression" : "grammar, which is in Lark's syntax", format.definition);
  if (is_regex) {
    input["pattern"] = fmt::format("^(?:{})$", format.definition);
  } else if (!format.syntax.empty()) {
    warnings.push_back(
        fmt::format("{}.format: the grammar in Lark's syntax is not enforced: the model is shown it", place));
  }
  json::object function{{"name", *name},
                        {"parameters",
                         {{"type", "object"},
                          {"properties", {{kCustomInput, std::move(input)}}},
                          {"required", json::array{kCustomInput}},
                          {"additionalProperties", false}}}};
  if (!description.empty()) function["description"] = description;
  if (is_regex) function["strict"] = true;
  return json::object{{"type", "function"}, {"function", std::move(function)}};
}

ApiResult<void> FunctionBody::change_tools(json::array& tools) {
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    if (!is_custom_form(tools[i])) continue;
    const std::string place = fmt::format("tools[{}]", i);
    OCTAVO_TRY(const json::object* custom, read_custom(tools[i].get_object(), place));
    OCTAVO_TRY(json::object function, function_of_custom(*custom, place + ".custom", warnings_));
    const std::string name(function.at("function").at("name").get_string());
    tools_[name] = {.name = name, .is_custom = true};
    tools[i] = std::move(function);
  }
  for (const json::value& tool : tools) {
    const json::value* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
    const json::value* name =
        function != nullptr && function->is_object() ? function->get_object().if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string()) continue;
    if (!names.emplace(name->get_string()).second && tools_.contains(std::string_view(name->get_string())))
      return std::unexpected(
          invalid_value("tools", fmt::format("tools: found {} twice, expected a name for each", describe_json(*name))));
  }
  return {};
}

ApiResult<FunctionBody> FunctionBody::of(const json::object& body) {
  FunctionBody made(body);
  if (has_functions(body)) {
    made.is_of_functions_ = true;
    OCTAVO_TRY_VOID(make_tools_of_functions(made.own_.emplace(body)));
    return made;
  }
  const json::value* tools = body.if_contains("tools");
  const json::array* given = tools == nullptr ? nullptr : tools->if_array();
  if (given == nullptr || std::ranges::none_of(*given, is_custom_form)) return made;
  json::object& own = made.own_.emplace(body);
  OCTAVO_TRY_VOID(made.change_tools(own["tools"].get_array()));
  json::value* choice = own.if_contains("tool_choice");
  if (choice == nullptr || !is_custom_form(*choice)) return made;
  OCTAVO_TRY(const json::object* custom, read_custom(choice->get_object(), "tool_choice"));
  json::object function{{"type", "function"}, {"function", *custom}};
  *choice = std::move(function);
  return made;
}

}  // namespace octavo
