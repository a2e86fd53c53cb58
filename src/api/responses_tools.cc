#include "api/responses_tools.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "base/error.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// The tool as a chat has it: its members one level deeper.
ApiResult<json::object> function_of(const json::object& tool, const std::string& place) {
  JsonFields fields(tool, place);
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

std::string_view name_of(const json::value& function) { return function.at("function").at("name").get_string(); }

ApiResult<const json::array*> read_array(const json::object& holder, std::string_view name, const std::string& place) {
  const json::value* value = JsonFields(holder).find(name);
  if (value == nullptr) return nullptr;
  const json::array* array = value->if_array();
  if (array == nullptr) return std::unexpected(invalid_type(place + std::string(name), "an array of tools", *value));
  return array;
}

class ToolReader {
 public:
  /// Tools of a list; `space`: the namespace that they are in.
  ApiResult<void> read(const json::array& given, const std::string& place, std::string_view space) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string own = fmt::format("{}[{}]", place, i);
      const json::object* tool = given[i].if_object();
      if (tool == nullptr) return std::unexpected(invalid_type(own, "a tool (an object)", given[i]));
      OCTAVO_TRY_VOID(read_tool(*tool, own, space));
    }
    return {};
  }

  /// The name of the function that a client means by a name: its own, else that of the first tool that has it in a
  /// namespace. The name itself where there is none.
  std::string_view function_named(std::string_view name) const {
    const auto called = names_.contains(name) ? called_.end() : called_.find(name);
    return called == called_.end() ? name : std::string_view(called->second);
  }

  json::array functions = {};
  ResponseTools tools = {};

 private:
  ApiResult<void> read_tool(const json::object& tool, const std::string& place, std::string_view space) {
    JsonFields fields(tool, place);
    const auto given = fields.string("type");
    if (fields.failed()) return std::unexpected(*fields.error());
    const std::string_view type = given.value_or("function");
    if (type == "namespace" && space.empty()) return read_space(tool, place);
    if (type == "function") {
      OCTAVO_TRY(json::object function, function_of(tool, place));
      return add(std::move(function), place, {.space = std::string(space)});
    }
    if (type == "custom") {
      OCTAVO_TRY(json::object function, function_of_custom(tool, place, tools.warnings));
      return add(std::move(function), place, {.space = std::string(space), .is_custom = true});
    }
    tools.warnings.push_back(fmt::format("{}: a tool of type {} is left out: this server runs none itself", place,
                                         describe_json(json::value(type))));
    return {};
  }

  // The description of a namespace stands in front of that of its first tool: functions have no other place for it.
  ApiResult<void> read_space(const json::object& given, const std::string& place) {
    JsonFields fields(given, place);
    OCTAVO_TRY(const std::string_view name, fields.needed_string("name"));
    const std::string_view description = fields.string("description").value_or("");
    if (fields.failed()) return std::unexpected(*fields.error());
    OCTAVO_TRY(const json::array* inner, read_array(given, "tools", place + "."));
    if (inner == nullptr) return std::unexpected(missing_field(place + ".tools", "an array of tools"));
    const std::size_t first = functions.size();
    OCTAVO_TRY_VOID(read(*inner, place + ".tools", name));
    if (description.empty() || functions.size() == first) return {};
    json::value& shown = functions[first].at("function").get_object()["description"];
    const std::string own = shown.is_string() ? std::string(shown.get_string()) : std::string();
    shown = fmt::format("{}: {}{}{}", name, description, own.empty() ? "" : "\n\n", own);
    return {};
  }

  ApiResult<void> add(json::object&& function, const std::string& place, ClientTool known) {
    json::string& name = function.at("function").at("name").get_string();
    known.name = name;
    const bool is_plain = known.space.empty() && !known.is_custom;
    name = qualified_name(known.space, known.name);
    if (!may_name_a_tool(name)) return std::unexpected(wrong_tool_name(place + ".name", std::string_view(name)));
    if (!names_.emplace(name).second && (!is_plain || tools.client_tools.contains(std::string_view(name))))
      return std::unexpected(
          invalid_value(place + ".name",
                        fmt::format("{}.name: found {} twice, expected a name for each", place, describe_json(name))));
    if (!is_plain) {
      called_.try_emplace(known.name, name);
      tools.client_tools.emplace(name, std::move(known));
    }
    functions.push_back(std::move(function));
    return {};
  }

  std::set<std::string, std::less<>> names_ = {};                // of functions
  std::map<std::string, std::string, std::less<>> called_ = {};  // names of functions by those of the client's tools
};

/// The tools named in `allowed`, of those that there are. A namespace's name stands for all of its tools.
ApiResult<json::array> allowed_of(const json::object& choice, const ToolReader& reader) {
  OCTAVO_TRY(const json::array* allowed, read_array(choice, "tools", "tool_choice."));
  if (allowed == nullptr)
    return std::unexpected(invalid_value("tool_choice.tools", "tool_choice.tools: expected an array of tools"));
  std::set<std::string_view> functions, spaces;
  for (const json::value& tool : *allowed) {
    const json::object* object = tool.if_object();
    const json::value* name = object == nullptr ? nullptr : object->if_contains("name");
    if (name == nullptr || !name->is_string()) continue;
    functions.insert(reader.function_named(name->get_string()));
    spaces.insert(name->get_string());
  }
  json::array kept;
  for (const json::value& function : reader.functions) {
    const auto known = reader.tools.client_tools.find(name_of(function));
    const bool is_in_space = known != reader.tools.client_tools.end() && !known->second.space.empty() &&
                             spaces.contains(known->second.space);
    if (functions.contains(name_of(function)) || is_in_space) kept.push_back(function);
  }
  return kept;
}

/// Changes the reader's functions to those that the choice allows.
ApiResult<json::value> read_choice(const json::value& value, ToolReader& reader) {
  if (value.is_string()) return value;
  const json::object* choice = value.if_object();
  if (choice == nullptr)
    return std::unexpected(invalid_type("tool_choice", "none, auto, required or an object", value));
  JsonFields fields(*choice, "tool_choice");
  const auto type = fields.string("type");
  const auto name = fields.string("name");
  const auto mode = fields.string("mode");
  if (fields.failed()) return std::unexpected(*fields.error());
  if ((type == "function" || type == "custom") && name)
    return json::value{{"type", "function"}, {"function", {{"name", reader.function_named(*name)}}}};
  if (type == "allowed_tools") {
    OCTAVO_TRY(reader.functions, allowed_of(*choice, reader));
    if (mode && *mode != "auto" && *mode != "required")
      return std::unexpected(invalid_value("tool_choice.mode", "tool_choice.mode: expected \"auto\" or \"required\""));
    return json::value(mode.value_or("auto"));
  }
  return std::unexpected(
      unsupported("tool_choice", fmt::format("tool_choice.type: found {}, expected function or custom with a name, or "
                                             "allowed_tools: this server runs no tools itself",
                                             type ? describe_json(json::value(*type)) : "none")));
}

}  // namespace

ApiResult<ResponseTools> add_response_tools(const json::object& body, json::object& chat) {
  ToolReader reader;
  OCTAVO_TRY(const json::array* given, read_array(body, "tools", ""));
  if (given != nullptr) OCTAVO_TRY_VOID(reader.read(*given, "tools", ""));
  if (const json::value* choice = JsonFields(body).find("tool_choice")) {
    OCTAVO_TRY(chat["tool_choice"], read_choice(*choice, reader));
  }
  if (!reader.functions.empty()) chat["tools"] = std::move(reader.functions);
  return std::move(reader.tools);
}

}  // namespace octavo
