#include "api/messages_request.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "api/chat_extensions.h"
#include "api/json_fields.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// Coding agents send a first block of the system text whose checksum is another in every request; with it no two
/// requests would have a beginning in common.
constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";

/// Fields of the same name and meaning in both APIs.
constexpr std::array<std::string_view, 6> kSameFields = {"model", "max_tokens", "temperature",
                                                         "top_p", "top_k",      "stream"};

json::object text_part(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

JsonError wrong_block(const JsonCursor& block, std::string_view type) {
  return block.error(
      fmt::format("found a block of type '{}'; this server reads text, thinking, tool_use and tool_result", type),
      "unsupported_parameter");
}

ApiResult<std::string_view> text_of(const JsonCursor& given) { return to_api_result(given.needed_string()); }

/// The type of a block, or of what has a type as blocks do.
ApiResult<std::string_view> type_of(const JsonCursor& block) {
  OCTAVO_TRY_VOID(to_api_result(block.needed_object("a block (an object)")));
  return text_of(block["type"]);
}

/// A string, or an array of text blocks: content parts of a chat.
ApiResult<json::value> text_content(const JsonCursor& content) {
  if (content.if_string() != nullptr) return *content.value();
  OCTAVO_TRY(const json::array* blocks, to_api_result(content.array("a string or an array of blocks")));
  json::array parts;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const JsonCursor block = content[i];
    OCTAVO_TRY(const std::string_view type, type_of(block));
    if (type != "text") return refused(wrong_block(block, type));
    OCTAVO_TRY(const std::string_view text, text_of(block["text"]));
    parts.push_back(text_part(text));
  }
  return parts;
}

ApiResult<void> add_system(const JsonCursor& system, json::array& messages) {
  if (!system.is_given()) return {};
  OCTAVO_TRY(json::value content, text_content(system));
  if (json::array* parts = content.if_array()) {
    if (!parts->empty() && std::string_view(parts->front().at("text").as_string()).starts_with(kBillingHeader))
      parts->erase(parts->begin());
    if (parts->empty()) return {};
  }
  messages.push_back(json::object{{"role", "system"}, {"content", std::move(content)}});
  return {};
}

/// Results of tools become messages of their own, in front of what else the user says.
ApiResult<void> add_user(const JsonCursor& content, std::size_t num_blocks, json::array& messages) {
  json::array parts;
  for (std::size_t i = 0; i < num_blocks; ++i) {
    const JsonCursor block = content[i];
    OCTAVO_TRY(const std::string_view type, type_of(block));
    if (type == "text") {
      OCTAVO_TRY(const std::string_view text, text_of(block["text"]));
      parts.push_back(text_part(text));
      continue;
    }
    if (type != "tool_result") return refused(wrong_block(block, type));
    OCTAVO_TRY(const std::string_view id, text_of(block["tool_use_id"]));
    json::value result = "";
    if (const JsonCursor given = block["content"]; given.is_given()) {
      OCTAVO_TRY(result, text_content(given));
    }
    messages.push_back(json::object{{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(result)}});
  }
  if (!parts.empty()) messages.push_back(json::object{{"role", "user"}, {"content", std::move(parts)}});
  return {};
}

ApiResult<json::object> call_of(const JsonCursor& block) {
  OCTAVO_TRY(const std::string_view id, text_of(block["id"]));
  OCTAVO_TRY(const std::string_view name, text_of(block["name"]));
  OCTAVO_TRY(const json::object* input, to_api_result(block["input"].object()));
  return json::object{{"id", id},
                      {"type", "function"},
                      {"function", {{"name", name}, {"arguments", input == nullptr ? json::object() : *input}}}};
}

ApiResult<void> add_assistant(const JsonCursor& content, std::size_t num_blocks, json::array& messages) {
  json::array parts, calls;
  std::string reasoning;
  for (std::size_t i = 0; i < num_blocks; ++i) {
    const JsonCursor block = content[i];
    OCTAVO_TRY(const std::string_view type, type_of(block));
    if (type == "redacted_thinking") continue;  // nobody can read it
    if (type == "tool_use") {
      OCTAVO_TRY(json::object call, call_of(block));
      calls.push_back(std::move(call));
      continue;
    }
    const bool is_reasoning = type == "thinking";
    if (!is_reasoning && type != "text") return refused(wrong_block(block, type));
    OCTAVO_TRY(const std::string_view text, text_of(block[is_reasoning ? "thinking" : "text"]));
    is_reasoning ? void(reasoning += text) : void(parts.push_back(text_part(text)));
  }
  json::object message{{"role", "assistant"}};
  if (!parts.empty()) message["content"] = std::move(parts);
  if (!reasoning.empty()) message["reasoning_content"] = reasoning;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  messages.push_back(std::move(message));
  return {};
}

ApiResult<void> add_message(const JsonCursor& message, json::array& messages) {
  constexpr std::string_view kContent = "a string or an array of blocks";
  OCTAVO_TRY_VOID(to_api_result(message.needed_object("a message (an object)")));
  OCTAVO_TRY(const std::string_view role, text_of(message["role"]));
  if (role != "user" && role != "assistant" && role != "system")
    return refused(message["role"].error(fmt::format("found '{}', expected user, assistant or system", role)));
  const JsonCursor content = message["content"];
  if (!content.is_given()) return refused(content.wrong_value(kContent));
  if (role == "system" || content.if_string() != nullptr) {
    OCTAVO_TRY(json::value texts, text_content(content));
    messages.push_back(json::object{{"role", role}, {"content", std::move(texts)}});
    return {};
  }
  OCTAVO_TRY(const json::array* blocks, to_api_result(content.array(kContent)));
  return role == "user" ? add_user(content, blocks->size(), messages)
                        : add_assistant(content, blocks->size(), messages);
}

/// A conversation whose last message is the assistant's is gone on with.
ApiResult<void> add_messages(const JsonCursor& body, json::object& chat) {
  const JsonCursor said = body["messages"];
  const json::array* given = said.if_array();
  if (given == nullptr || given->empty())
    return refused(said.error("found none, expected an array of at least one message"));
  json::array messages;
  OCTAVO_TRY_VOID(add_system(body["system"], messages));
  for (std::size_t i = 0; i < given->size(); ++i) OCTAVO_TRY_VOID(add_message(said[i], messages));
  if (messages.empty()) return refused(said.error("found no content, expected a block at least"));
  const json::object& last = messages.back().as_object();
  if (last.at("role") == "assistant" && !last.contains("tool_calls")) {
    chat["continue_final_message"] = true;
    chat["add_generation_prompt"] = false;
  }
  chat["messages"] = std::move(messages);
  return {};
}

/// Tools that Anthropic's servers would run, or that its models alone know, are left out.
ApiResult<void> add_tools(const JsonCursor& offered, CompletionBody& made) {
  OCTAVO_TRY(const json::array* given, to_api_result(offered.array("an array of tools")));
  if (given == nullptr) return {};
  json::array tools;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const JsonCursor tool = offered[i];
    OCTAVO_TRY(const json::object* members, to_api_result(tool.needed_object("a tool (an object)")));
    if (const json::value* type = tool["type"].value(); type != nullptr && *type != "custom") {
      made.warnings.push_back(
          fmt::format("tools[{}]: a tool of the type {} is left out: this server knows the client's own "
                      "alone",
                      i, describe_json(*type)));
      continue;
    }
    OCTAVO_TRY(const std::string_view name, text_of(tool["name"]));
    json::object function{{"name", name}};
    if (const json::value* description = members->if_contains("description")) function["description"] = *description;
    if (const json::value* schema = members->if_contains("input_schema")) function["parameters"] = *schema;
    if (const json::value* strict = members->if_contains("strict")) function["strict"] = *strict;
    tools.push_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  }
  made.body["tools"] = std::move(tools);
  return {};
}

ApiResult<void> add_tool_choice(const JsonCursor& choice, json::object& chat) {
  if (!choice.is_given()) return {};
  OCTAVO_TRY(const std::string_view type, type_of(choice));
  if (type == "auto" || type == "none") {
    chat["tool_choice"] = type;
  } else if (type == "any") {
    chat["tool_choice"] = "required";
  } else if (type == "tool") {
    OCTAVO_TRY(const std::string_view name, text_of(choice["name"]));
    chat["tool_choice"] = {{"type", "function"}, {"function", {{"name", name}}}};
  } else {
    return refused(choice["type"].error(fmt::format("found '{}', expected auto, any, tool or none", type)));
  }
  OCTAVO_TRY(const auto is_single, to_api_result(choice["disable_parallel_tool_use"].boolean()));
  if (is_single.value_or(false)) chat["parallel_tool_calls"] = false;
  return {};
}

/// Thinking is asked for of every model; one that has none answers without.
ApiResult<void> add_thinking(const JsonCursor& thinking, const ModelInfo& info, json::object& chat) {
  if (!thinking.is_given()) return {};
  OCTAVO_TRY(const std::string_view type, type_of(thinking));
  if (type != "enabled" && type != "adaptive" && type != "disabled")
    return refused(thinking["type"].error(fmt::format("found '{}', expected enabled, adaptive or disabled", type)));
  chat["chat_template_kwargs"] = {{"enable_thinking", type != "disabled"}};
  OCTAVO_TRY(const auto budget, to_api_result(thinking["budget_tokens"].integer(0, std::numeric_limits<int>::max())));
  if (budget && !info.reasoning.empty()) chat["reasoning_budget"] = *budget;
  return {};
}

/// The shape that the answer must have, and how hard to think: output_config.
ApiResult<void> add_output_config(const JsonCursor& config, json::object& chat) {
  OCTAVO_TRY(const auto effort, to_api_result(config["effort"].string()));
  if (effort) chat["reasoning_effort"] = *effort;
  const JsonCursor format = config["format"];
  if (!format.is_given()) return {};
  OCTAVO_TRY(const std::string_view type, type_of(format));
  const json::value* schema = format.value()->get_object().if_contains("schema");
  if (type != "json_schema" || schema == nullptr)
    return refused(format.error("expected the type json_schema and a schema"));
  chat["response_format"] = {{"type", "json_schema"},
                             {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", *schema}}}};
  return {};
}

}  // namespace

ApiResult<CompletionBody> chat_of_messages(const json::object& body, const ModelInfo& info, bool needs_length) {
  CompletionBody made;
  json::object& chat = made.body;
  const JsonCursor fields(body);
  for (const std::string_view name : kSameFields)
    if (const json::value* value = fields[name].value()) chat[name] = *value;
  copy_chat_extensions(body, chat);
  if (needs_length && !chat.contains("max_tokens"))
    return refused(fields["max_tokens"].wrong_value("the most tokens of the answer"));
  if (const json::value* stop = fields["stop_sequences"].value()) chat["stop"] = *stop;
  OCTAVO_TRY_VOID(add_messages(fields, chat));
  OCTAVO_TRY_VOID(add_tools(fields["tools"], made));
  OCTAVO_TRY_VOID(add_tool_choice(fields["tool_choice"], chat));
  OCTAVO_TRY_VOID(add_thinking(fields["thinking"], info, chat));
  OCTAVO_TRY_VOID(add_output_config(fields["output_config"], chat));
  return made;
}

}  // namespace octavo
