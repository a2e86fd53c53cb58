// Tools that a chat offers, and whether they may be called: OpenAI's tools, tool_choice and parallel_tool_calls.
#include <fmt/format.h>

#include <algorithm>

#include "server/openai_request.h"
#include "server/tool_calling.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxToolNameBytes = 256;

ApiResult<void> check_tool(const json::value& value, const std::string& name) {
  const json::object* tool = value.if_object();
  if (tool == nullptr) return std::unexpected(invalid_type(name, "a tool (an object)", value));
  JsonFields fields(*tool, name + ".");
  const auto type = fields.string("type");
  const json::object* function = fields.object("function");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (type && *type != "function") {
    return std::unexpected(unsupported(
        name + ".type", fmt::format("{}.type: found {}, expected \"function\"", name, describe(json::value(*type)))));
  }
  if (function == nullptr) {
    return std::unexpected(
        invalid_value(name + ".function", name + ".function: found none, expected an object with a name"));
  }
  JsonFields inner(*function, name + ".function.");
  const auto called = inner.string("name");
  inner.object("parameters");
  inner.boolean("strict", false);
  if (inner.failed()) return std::unexpected(*inner.error());
  if (!called || called->empty() || called->size() > kMaxToolNameBytes) {
    return std::unexpected(invalid_value(
        name + ".function.name", fmt::format("{}.function.name: found {}, expected a name of 1 to {} bytes", name,
                                             called ? describe(json::value(*called)) : "none", kMaxToolNameBytes)));
  }
  return {};
}

ApiResult<void> check_tools(JsonFields& fields) {
  const json::value* tools = fields.find("tools");
  if (tools == nullptr) return {};
  const json::array* array = tools->if_array();
  if (array == nullptr) return std::unexpected(invalid_type("tools", "an array of tools", *tools));
  for (std::size_t i = 0; i < array->size(); ++i)
    if (auto checked = check_tool((*array)[i], fmt::format("tools[{}]", i)); !checked) return checked;
  return {};
}

bool has_tools(const JsonFields& fields) {
  const json::value* tools = fields.find("tools");
  return tools != nullptr && tools->is_array() && !tools->get_array().empty();
}

/// The one token that a text is, if it is one.
std::optional<TokenId> token_of(std::string_view text, const Engine& engine) {
  if (text.empty()) return std::nullopt;
  const auto tokens = engine.tokenize(text, {.add_special = false, .parse_special = true});
  if (!tokens || tokens->size() != 1) return std::nullopt;
  return tokens->front();
}

}  // namespace

ToolChoice read_tool_choice(JsonFields& fields) {
  const json::value* choice = fields.find("tool_choice");
  const json::string* mode = choice == nullptr ? nullptr : choice->if_string();
  if (mode != nullptr && *mode == "none") return ToolChoice::kNone;
  if (auto checked = check_tools(fields); !checked) fields.refuse(std::move(checked.error()));
  const bool has_any = has_tools(fields);
  if (choice == nullptr) return has_any ? ToolChoice::kAuto : ToolChoice::kNone;
  if (mode != nullptr && *mode == "auto") return has_any ? ToolChoice::kAuto : ToolChoice::kNone;
  fields.refuse(unsupported("tool_choice",
                            fmt::format("tool_choice: found {}, expected \"none\" or \"auto\"", describe(*choice))));
  return ToolChoice::kNone;
}

void read_tool_calling(JsonFields& fields, const Engine& engine, const TemplateValue& tools, CompletionCall& call,
                       Request& request) {
  const ToolFormat* format = find_tool_format(engine.info().tool_format);
  if (format == nullptr) {
    return fields.refuse(unsupported("tools",
                                     "tools: the chat template of this model has no place for tools; leave them out, "
                                     "or set tool_choice to \"none\""));
  }
  if (request.constraint != nullptr && fields.find("response_format") != nullptr) {
    return fields.refuse(unsupported(
        "response_format",
        "response_format: found beside tools that may be called, expected one of them, or the tool_choice \"none\""));
  }
  const bool parallel = fields.boolean("parallel_tool_calls", true);
  call.tools = std::make_shared<const ToolCalling>(
      ToolCalling{.format = format, .tools = ToolSet(tools), .is_single = !parallel});
  for (const std::string_view text : format->tokens)
    if (const auto token = token_of(text, engine)) request.shown_tokens.push_back(*token);
  if (const auto end = parallel ? std::nullopt : token_of(format->end, engine)) request.stop_tokens.push_back(*end);
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
                              fmt::format("{}: found {}, expected \"none\"", choice_name, describe(*choice))));
  }
}

}  // namespace octavo::server
