#include "api/responses/responses_tools.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/call/api_error.h"
#include "api/call/template_names.h"
#include "api/call/tool_fields.h"
#include "api/responses/foreign_items.h"
#include "base/error.h"
#include "toolcalls/tool_call_parser.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// The member `function` of a tool in the form of templates.
TemplateDict& function_shown(AskedTool& tool) {
  return std::get<TemplateDict>(std::get<TemplateDict>(tool.described).back().second);
}

TemplateValue* member(TemplateDict& dict, std::string_view name) {
  for (auto& [key, value] : dict)
    if (key == name) return &value;
  return nullptr;
}

/// Reads a function. Templates have its members one level deeper than the Responses API.
ApiResult<AskedTool> read_plain(const JsonCursor& given) {
  OCTAVO_TRY(AskedTool tool, read_function(given));
  TemplateDict function;
  for (const std::string_view name : {"name", "description", "parameters", "strict"})
    if (const json::value* value = given[name].value()) function.emplace_back(name, template_value(*value));
  tool.described = described_as_function(std::move(function));
  return tool;
}

class ToolReader {
 public:
  explicit ToolReader(ApiRequest& request) : request_(request), tools_(request.tools) {}

  /// Reads the tools of a list. `space`: the namespace that they are in.
  ApiResult<void> read(const JsonCursor& given, std::string_view space = {}) {
    OCTAVO_TRY(const json::array* array, to_api_result(given.array("an array of tools")));
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) OCTAVO_TRY_VOID(read_tool(given[i], space));
    return {};
  }

  /// Reads the tools of an item. Errors are only counted: a client repeats its items in each request.
  void read_item(const ConversationItem& item) {
    const std::string_view type = item.value->at("type").as_string();
    if (type != kAdditionalTools && type != kFoundTools) return;
    const JsonCursor given = JsonCursor(*item.value, type)["tools"];
    const std::size_t count = given.if_array()->size();
    owner_ = item.value;
    for (std::size_t i = 0; i < count; ++i)
      if (const auto read = read_tool(given[i], {}); !read && num_left_out_++ == 0) first_error_ = read.error().message;
    owner_ = nullptr;
  }

  /// Warns of the tools of items that could not be read.
  void warn() {
    if (num_left_out_ > 0)
      request_.warnings.push_back(fmt::format("{}; tools of items that are left out: {}", first_error_, num_left_out_));
  }

  /// Removes the tools that the choice does not allow, and sets whether one must be called.
  ApiResult<void> choose(const JsonCursor& choice) {
    const bool has_any = !tools_.tools.empty();
    if (has_any) tools_.choice.mode = ToolChoice::Mode::kAuto;
    if (!choice.is_given() || *choice.value() == "auto") return {};
    if (const json::string* mode = choice.if_string()) return choose_mode(*mode, choice);
    OCTAVO_TRY_VOID(to_api_result(choice.needed_object("none, auto, required or an object")));
    OCTAVO_TRY(const auto type, to_api_result(choice["type"].string()));
    OCTAVO_TRY(const auto name, to_api_result(choice["name"].string()));
    OCTAVO_TRY(const auto mode, to_api_result(choice["mode"].string()));
    if ((type == "function" || type == "custom") && name)
      return choose_tool(tools_, function_named(*name), choice["name"]);
    if (type != "allowed_tools")
      return refused(choice["type"].wrong_value(
          "function or custom with a name, or allowed_tools: this server runs no tools itself",
          "unsupported_parameter"));
    OCTAVO_TRY_VOID(leave(choice["tools"]));
    if (mode && *mode != "auto" && *mode != "required")
      return refused(choice["mode"].wrong_value("\"auto\" or \"required\""));
    return choose_mode(mode.value_or("auto"), choice["mode"]);
  }

 private:
  ApiResult<void> choose_mode(std::string_view mode, const JsonCursor& given) {
    const bool has_any = !tools_.tools.empty();
    if (mode == "none") {
      tools_.choice.mode = ToolChoice::Mode::kNone;
    } else if (mode == "auto") {
      tools_.choice.mode = has_any ? ToolChoice::Mode::kAuto : ToolChoice::Mode::kNone;
    } else if (!has_any) {
      return refused(given.error(
          fmt::format("found {} without tools, expected \"none\" or \"auto\"", describe_json(json::value(mode)))));
    } else if (mode == "required") {
      tools_.choice.mode = ToolChoice::Mode::kRequired;
    } else {
      return refused(given.wrong_value("\"none\", \"auto\", \"required\" or an object"));
    }
    return {};
  }

  /// The function that a client means by a tool's name: one with this name, else the first tool with this name in a
  /// namespace; the name itself where there is none.
  std::string_view function_named(std::string_view name) const {
    const auto called = names_.contains(name) ? called_.end() : called_.find(name);
    return called == called_.end() ? name : std::string_view(called->second);
  }

  ApiResult<void> read_tool(const JsonCursor& tool, std::string_view space) {
    OCTAVO_TRY_VOID(to_api_result(tool.needed_object("a tool (an object)")));
    OCTAVO_TRY(const auto given, to_api_result(tool["type"].string()));
    const std::string_view type = given.value_or("function");
    if (type == "namespace" && space.empty()) return read_space(tool);
    if (type != "function" && type != "custom") {
      request_.warnings.push_back(fmt::format("{}: a tool of type {} is left out: this server runs none itself",
                                              tool.path(), describe_json(json::value(type))));
      return {};
    }
    const bool is_custom = type == "custom";
    OCTAVO_TRY(AskedTool read, is_custom ? read_custom_tool(tool, request_.warnings) : read_plain(tool));
    return add(std::move(read), tool, {.space = std::string(space), .is_custom = is_custom});
  }

  // A namespace's description is put before that of its first tool, as functions have no other place for it.
  ApiResult<void> read_space(const JsonCursor& given) {
    OCTAVO_TRY(const std::string_view name, to_api_result(given["name"].needed_string()));
    OCTAVO_TRY(const auto description, to_api_result(given["description"].string()));
    const JsonCursor inner = given["tools"];
    if (!inner.is_given()) return refused(inner.wrong_value("an array of tools", "missing_required_parameter"));
    first_of_space_.reset();
    OCTAVO_TRY_VOID(read(inner, name));
    if (!description || description->empty() || !first_of_space_) return {};
    TemplateDict& function = function_shown(tools_.tools[*first_of_space_]);
    TemplateValue* shown = member(function, "description");
    const std::string* own = shown == nullptr ? nullptr : std::get_if<std::string>(shown);
    const bool has_own = own != nullptr && !own->empty();
    std::string text = fmt::format("{}: {}{}{}", name, *description, has_own ? "\n\n" : "", has_own ? *own : "");
    if (shown == nullptr) {
      function.emplace_back("description", std::move(text));
    } else {
      *shown = std::move(text);
    }
    return {};
  }

  ApiResult<void> add(AskedTool tool, const JsonCursor& given, ClientTool known) {
    known.name = tool.name;
    const bool is_plain = known.space.empty() && !known.is_custom;
    tool.name = qualified_name(known.space, known.name);
    *member(function_shown(tool), "name") = tool.name;
    if (!may_name_a_tool(tool.name)) return std::unexpected(wrong_tool_name(given["name"].path(), tool.name));
    const auto [place, is_new] = names_.try_emplace(tool.name, tools_.tools.size());
    const bool replaces = !is_new && owner_ != nullptr;
    if (!is_new && !replaces && (!is_plain || tools_.client_tools.contains(tool.name)))
      return refused(given["name"].error(
          fmt::format("found {} twice, expected a name for each", describe_json(json::value(tool.name)))));
    if (replaces) tools_.client_tools.erase(tool.name);
    if (!is_plain) {
      called_.try_emplace(known.name, tool.name);
      tools_.client_tools.emplace(tool.name, std::move(known));
    }
    // The schema points into the item, which may be gone before the request: the tool holds the item.
    if (owner_ != nullptr && tool.parameters.use_count() == 0) tool.parameters = {owner_, tool.parameters.get()};
    const std::size_t index = replaces ? place->second : tools_.tools.size();
    if (!first_of_space_) first_of_space_ = index;
    if (!replaces) tools_.tools.emplace_back();
    tools_.tools[index] = std::move(tool);
    return {};
  }

  /// Removes all tools but those named in `allowed`. The name of a namespace stands for all of its tools.
  ApiResult<void> leave(const JsonCursor& allowed) {
    OCTAVO_TRY(const json::array* array, to_api_result(allowed.array("an array of tools")));
    if (array == nullptr) return refused(allowed.wrong_value("an array of tools"));
    std::set<std::string_view> functions, spaces;
    for (std::size_t i = 0; i < array->size(); ++i) {
      const json::string* name = allowed[i]["name"].if_string();
      if (name == nullptr) continue;
      functions.insert(function_named(*name));
      spaces.insert(*name);
    }
    std::erase_if(tools_.tools, [&](const AskedTool& tool) {
      const auto known = tools_.client_tools.find(tool.name);
      const bool is_in_space =
          known != tools_.client_tools.end() && !known->second.space.empty() && spaces.contains(known->second.space);
      return !functions.contains(tool.name) && !is_in_space;
    });
    return {};
  }

  ApiRequest& request_;
  AskedTools& tools_;
  std::shared_ptr<const json::object> owner_ = {};  // the item that is being read; null: the tools are the body's
  std::size_t num_left_out_ = 0;
  std::optional<std::size_t> first_of_space_ = {};  // the index of the first tool of the namespace that is being read
  std::string first_error_ = {};
  std::map<std::string, std::size_t, std::less<>> names_ = {};   // the indices of tools, by the names of functions
  std::map<std::string, std::string, std::less<>> called_ = {};  // names of functions, by the client's names of tools
};

}  // namespace

ApiResult<void> read_response_tools(const JsonCursor& tools, std::span<const ConversationItem> items,
                                    const JsonCursor& choice, ApiRequest& request) {
  ToolReader reader(request);
  OCTAVO_TRY_VOID(reader.read(tools));
  for (const ConversationItem& item : items) reader.read_item(item);
  reader.warn();
  OCTAVO_TRY_VOID(reader.choose(choice));
  request.tools.are_given = !request.tools.tools.empty();
  return {};
}

}  // namespace octavo
