#include "api/old_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "base/error.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kFunctions = "functions", kChoice = "function_call";

bool is_asked(const json::object& body, std::string_view name) {
  const json::value* value = JsonFields(body).find(name);
  return value != nullptr && !(value->is_array() && value->get_array().empty());
}

ApiResult<json::object> tool_of(const json::value& value, const std::string& place) {
  const json::object* function = value.if_object();
  if (function == nullptr) return std::unexpected(invalid_type(place, "a function (an object)", value));
  JsonFields fields(*function, place);
  const auto name = fields.string("name");
  fields.object("parameters");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (!name || !may_name_a_tool(*name)) return std::unexpected(wrong_tool_name(place + ".name", name));
  return json::object{{"type", "function"}, {"function", *function}};
}

/// "auto", "none", or the name in {"name": ...}, which is one of the tools'.
ApiResult<json::value> choice_of(const json::value& given, const json::array& tools) {
  if (given == "auto" || given == "none") return given;
  const json::object* object = given.if_object();
  if (object == nullptr)
    return std::unexpected(
        invalid_type(std::string(kChoice), "\"auto\", \"none\", or a function's name in an object", given));
  OCTAVO_TRY(const std::string_view name, JsonFields(*object, "function_call").needed_string("name"));
  const auto has_name = [&](const json::value& tool) { return tool.at("function").at("name").get_string() == name; };
  if (std::ranges::none_of(tools, has_name))
    return std::unexpected(
        invalid_value("function_call.name", fmt::format("function_call.name: found {}, expected the name of one of the "
                                                        "functions",
                                                        describe_json(json::value(name)))));
  return json::object{{"type", "function"}, {"function", {{"name", name}}}};
}

}  // namespace

bool has_functions(const json::object& body) { return is_asked(body, kFunctions) || is_asked(body, kChoice); }

ApiResult<void> make_tools_of_functions(json::object& body) {
  for (const auto& [newer, older] : {std::pair{"tools", kFunctions}, std::pair{"tool_choice", kChoice}})
    if (is_asked(body, newer) && has_functions(body))
      return std::unexpected(invalid_value(
          newer, fmt::format("{}: found it beside {}, expected one of them: they are the same", newer, older)));
  json::array tools;
  if (const json::value* functions = JsonFields(body).find(kFunctions)) {
    const json::array* given = functions->if_array();
    if (given == nullptr)
      return std::unexpected(invalid_type(std::string(kFunctions), "an array of functions", *functions));
    for (std::size_t i = 0; i < given->size(); ++i) {
      OCTAVO_TRY(json::object tool, tool_of((*given)[i], fmt::format("{}[{}]", kFunctions, i)));
      tools.push_back(std::move(tool));
    }
  }
  if (const json::value* choice = JsonFields(body).find(kChoice)) {
    OCTAVO_TRY(body["tool_choice"], choice_of(*choice, tools));
  }
  body["tools"] = std::move(tools);
  body["parallel_tool_calls"] = false;
  body.erase(kFunctions);
  body.erase(kChoice);
  return {};
}

}  // namespace octavo
