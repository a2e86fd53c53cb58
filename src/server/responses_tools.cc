#include "server/responses_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "server/json_fields.h"
#include "server/openai_request.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

/// The tool as a chat has it: its members one level deeper.
ApiResult<json::object> function_of(const json::object& tool, const std::string& place) {
  JsonFields fields(tool, place + ".");
  const auto name = fields.string("name");
  fields.object("parameters");
  fields.boolean("strict", false);
  if (fields.failed()) return std::unexpected(*fields.error());
  if (!name || !may_name_a_tool(*name)) return std::unexpected(wrong_tool_name(place + ".name", name));
  json::object function;
  for (const std::string_view member : {"name", "description", "parameters", "strict"})
    if (const json::value* value = fields.find(member)) function[member] = *value;
  return json::object{{"type", "function"}, {"function", std::move(function)}};
}

struct Tools {
  json::array functions = {};
  std::vector<std::string> warnings = {};
};

ApiResult<Tools> read_tools(const json::object& body) {
  Tools tools;
  const json::value* value = JsonFields(body).find("tools");
  if (value == nullptr) return tools;
  const json::array* given = value->if_array();
  if (given == nullptr) return std::unexpected(invalid_type("tools", "an array of tools", *value));
  for (std::size_t i = 0; i < given->size(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    const json::object* tool = (*given)[i].if_object();
    if (tool == nullptr) return std::unexpected(invalid_type(place, "a tool (an object)", (*given)[i]));
    JsonFields fields(*tool, place + ".");
    const auto type = fields.string("type");
    if (fields.failed()) return std::unexpected(*fields.error());
    if (type && *type != "function") {
      tools.warnings.push_back(fmt::format("{}: a tool of type {} is left out: this server has functions alone", place,
                                           describe(json::value(*type))));
      continue;
    }
    OCTAVO_TRY(json::object function, function_of(*tool, place));
    tools.functions.push_back(std::move(function));
  }
  return tools;
}

std::string_view name_of(const json::value& function) { return function.at("function").at("name").get_string(); }

/// The tools named in `allowed`, of those that there are.
ApiResult<json::array> allowed_of(const json::object& choice, const json::array& functions) {
  const json::value* allowed = JsonFields(choice).find("tools");
  const json::array* names = allowed == nullptr ? nullptr : allowed->if_array();
  if (names == nullptr)
    return std::unexpected(invalid_value("tool_choice.tools", "tool_choice.tools: expected an array of tools"));
  json::array kept;
  for (const json::value& function : functions) {
    const bool is_named = std::ranges::any_of(*names, [&](const json::value& named) {
      const json::object* object = named.if_object();
      const json::value* name = object == nullptr ? nullptr : object->if_contains("name");
      return name != nullptr && name->is_string() && name->get_string() == name_of(function);
    });
    if (is_named) kept.push_back(function);
  }
  return kept;
}

/// Changes `functions` to those that the choice allows.
ApiResult<json::value> read_choice(const json::value& value, json::array& functions) {
  if (value.is_string()) return value;
  const json::object* choice = value.if_object();
  if (choice == nullptr)
    return std::unexpected(invalid_type("tool_choice", "none, auto, required or an object", value));
  JsonFields fields(*choice, "tool_choice.");
  const auto type = fields.string("type");
  const auto name = fields.string("name");
  const auto mode = fields.string("mode");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (type == "function" && name) return json::value{{"type", "function"}, {"function", {{"name", *name}}}};
  if (type == "allowed_tools") {
    OCTAVO_TRY(functions, allowed_of(*choice, functions));
    if (mode && *mode != "auto" && *mode != "required")
      return std::unexpected(invalid_value("tool_choice.mode", "tool_choice.mode: expected \"auto\" or \"required\""));
    return json::value(mode.value_or("auto"));
  }
  return std::unexpected(
      unsupported("tool_choice", fmt::format("tool_choice.type: found {}, expected function with a name, or "
                                             "allowed_tools: this server has functions alone",
                                             type ? describe(json::value(*type)) : "none")));
}

}  // namespace

ApiResult<std::vector<std::string>> add_response_tools(const json::object& body, json::object& chat) {
  OCTAVO_TRY(Tools tools, read_tools(body));
  if (const json::value* choice = JsonFields(body).find("tool_choice")) {
    OCTAVO_TRY(chat["tool_choice"], read_choice(*choice, tools.functions));
  }
  if (!tools.functions.empty()) chat["tools"] = std::move(tools.functions);
  return std::move(tools.warnings);
}

}  // namespace octavo::server
