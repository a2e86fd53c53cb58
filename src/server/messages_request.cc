#include "server/messages_request.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "server/chat_extensions.h"
#include "server/json_fields.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

/// Coding agents send a first block of the system text whose checksum is another in every request; with it no two
/// requests would have a beginning in common.
constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";

/// Fields of the same name and meaning in both APIs.
constexpr std::array<std::string_view, 6> kSameFields = {"model", "max_tokens", "temperature",
                                                         "top_p", "top_k",      "stream"};

json::object text_part(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

ApiError wrong_block(const std::string& place, std::string_view type) {
  return unsupported(place,
                     fmt::format("{}: found a block of type '{}'; this server reads text, thinking, tool_use and "
                                 "tool_result",
                                 place, type));
}

/// The text of a block, or of a text that stands in its place.
ApiResult<std::string_view> text_of(const json::object& block, const std::string& place, std::string_view field) {
  return JsonFields(block, place + ".").needed_string(field);
}

ApiResult<std::pair<const json::object*, std::string_view>> typed(const json::value& value, const std::string& place) {
  const json::object* block = value.if_object();
  if (block == nullptr) return std::unexpected(invalid_type(place, "a block (an object)", value));
  OCTAVO_TRY(const std::string_view type, text_of(*block, place, "type"));
  return std::pair{block, type};
}

/// A string, or an array of text blocks: content parts of a chat.
ApiResult<json::value> text_content(const json::value& content, const std::string& place) {
  if (content.is_string()) return content;
  const json::array* blocks = content.if_array();
  if (blocks == nullptr) return std::unexpected(invalid_type(place, "a string or an array of blocks", content));
  json::array parts;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const std::string block_place = fmt::format("{}[{}]", place, i);
    OCTAVO_TRY(const auto block, typed((*blocks)[i], block_place));
    if (block.second != "text") return std::unexpected(wrong_block(block_place, block.second));
    OCTAVO_TRY(const std::string_view text, text_of(*block.first, block_place, "text"));
    parts.push_back(text_part(text));
  }
  return parts;
}

ApiResult<void> add_system(const json::object& body, json::array& messages) {
  const json::value* system = JsonFields(body).find("system");
  if (system == nullptr) return {};
  OCTAVO_TRY(json::value content, text_content(*system, "system"));
  if (json::array* parts = content.if_array()) {
    if (!parts->empty() && std::string_view(parts->front().at("text").as_string()).starts_with(kBillingHeader))
      parts->erase(parts->begin());
    if (parts->empty()) return {};
  }
  messages.push_back(json::object{{"role", "system"}, {"content", std::move(content)}});
  return {};
}

/// Results of tools become messages of their own, in front of what else the user says.
ApiResult<void> add_user(const json::array& blocks, const std::string& place, json::array& messages) {
  json::array parts;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string block_place = fmt::format("{}[{}]", place, i);
    OCTAVO_TRY(const auto block, typed(blocks[i], block_place));
    if (block.second == "text") {
      OCTAVO_TRY(const std::string_view text, text_of(*block.first, block_place, "text"));
      parts.push_back(text_part(text));
      continue;
    }
    if (block.second != "tool_result") return std::unexpected(wrong_block(block_place, block.second));
    OCTAVO_TRY(const std::string_view id, text_of(*block.first, block_place, "tool_use_id"));
    json::value content = "";
    if (const json::value* given = JsonFields(*block.first).find("content"); given != nullptr) {
      OCTAVO_TRY(content, text_content(*given, block_place + ".content"));
    }
    messages.push_back(json::object{{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(content)}});
  }
  if (!parts.empty()) messages.push_back(json::object{{"role", "user"}, {"content", std::move(parts)}});
  return {};
}

ApiResult<json::object> call_of(const json::object& block, const std::string& place) {
  OCTAVO_TRY(const std::string_view id, text_of(block, place, "id"));
  OCTAVO_TRY(const std::string_view name, text_of(block, place, "name"));
  const json::value* input = block.if_contains("input");
  if (input != nullptr && !input->is_object())
    return std::unexpected(invalid_type(place + ".input", "an object", *input));
  return json::object{
      {"id", id},
      {"type", "function"},
      {"function", {{"name", name}, {"arguments", input == nullptr ? json::value(json::object()) : *input}}}};
}

ApiResult<void> add_assistant(const json::array& blocks, const std::string& place, json::array& messages) {
  json::array parts, calls;
  std::string reasoning;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string block_place = fmt::format("{}[{}]", place, i);
    OCTAVO_TRY(const auto block, typed(blocks[i], block_place));
    if (block.second == "redacted_thinking") continue;  // nobody can read it
    if (block.second == "tool_use") {
      OCTAVO_TRY(json::object call, call_of(*block.first, block_place));
      calls.push_back(std::move(call));
      continue;
    }
    const bool is_reasoning = block.second == "thinking";
    if (!is_reasoning && block.second != "text") return std::unexpected(wrong_block(block_place, block.second));
    OCTAVO_TRY(const std::string_view text, text_of(*block.first, block_place, is_reasoning ? "thinking" : "text"));
    is_reasoning ? void(reasoning += text) : void(parts.push_back(text_part(text)));
  }
  json::object message{{"role", "assistant"}};
  if (!parts.empty()) message["content"] = std::move(parts);
  if (!reasoning.empty()) message["reasoning_content"] = reasoning;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  messages.push_back(std::move(message));
  return {};
}

ApiResult<void> add_message(const json::value& value, const std::string& place, json::array& messages) {
  const json::object* message = value.if_object();
  if (message == nullptr) return std::unexpected(invalid_type(place, "a message (an object)", value));
  OCTAVO_TRY(const std::string_view role, text_of(*message, place, "role"));
  if (role != "user" && role != "assistant" && role != "system")
    return std::unexpected(invalid_value(
        place + ".role", fmt::format("{}.role: found '{}', expected user, assistant or system", place, role)));
  const json::value* content = JsonFields(*message).find("content");
  if (content == nullptr)
    return std::unexpected(
        invalid_value(place + ".content", place + ".content: found none, expected a string or an array of blocks"));
  const std::string content_place = place + ".content";
  if (role == "system" || content->is_string()) {
    OCTAVO_TRY(json::value texts, text_content(*content, content_place));
    messages.push_back(json::object{{"role", role}, {"content", std::move(texts)}});
    return {};
  }
  const json::array* blocks = content->if_array();
  if (blocks == nullptr)
    return std::unexpected(invalid_type(content_place, "a string or an array of blocks", *content));
  return role == "user" ? add_user(*blocks, content_place, messages) : add_assistant(*blocks, content_place, messages);
}

/// A conversation whose last message is the assistant's is gone on with.
ApiResult<void> add_messages(const json::object& body, json::object& chat) {
  const json::value* value = body.if_contains("messages");
  const json::array* given = value == nullptr ? nullptr : value->if_array();
  if (given == nullptr || given->empty())
    return std::unexpected(
        invalid_value("messages", "messages: found none, expected an array of at least one message"));
  json::array messages;
  OCTAVO_TRY_VOID(add_system(body, messages));
  for (std::size_t i = 0; i < given->size(); ++i)
    OCTAVO_TRY_VOID(add_message((*given)[i], fmt::format("messages[{}]", i), messages));
  if (messages.empty())
    return std::unexpected(invalid_value("messages", "messages: found no content, expected a block at least"));
  const json::object& last = messages.back().as_object();
  if (last.at("role") == "assistant" && !last.contains("tool_calls")) {
    chat["continue_final_message"] = true;
    chat["add_generation_prompt"] = false;
  }
  chat["messages"] = std::move(messages);
  return {};
}

/// Tools that Anthropic's servers would run, or that its models alone know, are left out.
ApiResult<void> add_tools(const json::object& body, CompletionBody& made) {
  const json::value* value = JsonFields(body).find("tools");
  if (value == nullptr) return {};
  const json::array* given = value->if_array();
  if (given == nullptr) return std::unexpected(invalid_type("tools", "an array of tools", *value));
  json::array tools;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    const json::object* tool = (*given)[i].if_object();
    if (tool == nullptr) return std::unexpected(invalid_type(place, "a tool (an object)", (*given)[i]));
    if (const json::value* type = JsonFields(*tool).find("type"); type != nullptr && *type != "custom") {
      made.warnings.push_back(
          fmt::format("{}: a tool of the type {} is left out: this server knows the client's own "
                      "alone",
                      place, describe(*type)));
      continue;
    }
    OCTAVO_TRY(const std::string_view name, text_of(*tool, place, "name"));
    json::object function{{"name", name}};
    if (const json::value* description = tool->if_contains("description")) function["description"] = *description;
    if (const json::value* schema = tool->if_contains("input_schema")) function["parameters"] = *schema;
    if (const json::value* strict = tool->if_contains("strict")) function["strict"] = *strict;
    tools.push_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  }
  made.body["tools"] = std::move(tools);
  return {};
}

ApiResult<void> add_tool_choice(const json::object& body, json::object& chat) {
  const json::value* value = JsonFields(body).find("tool_choice");
  if (value == nullptr) return {};
  OCTAVO_TRY(const auto choice, typed(*value, "tool_choice"));
  if (choice.second == "auto" || choice.second == "none") {
    chat["tool_choice"] = choice.second;
  } else if (choice.second == "any") {
    chat["tool_choice"] = "required";
  } else if (choice.second == "tool") {
    OCTAVO_TRY(const std::string_view name, text_of(*choice.first, "tool_choice", "name"));
    chat["tool_choice"] = {{"type", "function"}, {"function", {{"name", name}}}};
  } else {
    return std::unexpected(
        invalid_value("tool_choice.type",
                      fmt::format("tool_choice.type: found '{}', expected auto, any, tool or none", choice.second)));
  }
  JsonFields fields(*choice.first, "tool_choice.");
  if (fields.boolean("disable_parallel_tool_use", false)) chat["parallel_tool_calls"] = false;
  if (fields.failed()) return std::unexpected(*fields.error());
  return {};
}

/// Thinking is asked for of every model; one that has none answers without.
ApiResult<void> add_thinking(const json::object& body, const ModelInfo& info, json::object& chat) {
  const json::value* value = JsonFields(body).find("thinking");
  if (value == nullptr) return {};
  OCTAVO_TRY(const auto thinking, typed(*value, "thinking"));
  if (thinking.second != "enabled" && thinking.second != "adaptive" && thinking.second != "disabled")
    return std::unexpected(invalid_value(
        "thinking.type",
        fmt::format("thinking.type: found '{}', expected enabled, adaptive or disabled", thinking.second)));
  chat["chat_template_kwargs"] = {{"enable_thinking", thinking.second != "disabled"}};
  JsonFields fields(*thinking.first, "thinking.");
  const auto budget = fields.integer("budget_tokens", 0, std::numeric_limits<int>::max());
  if (fields.failed()) return std::unexpected(*fields.error());
  if (budget && !info.reasoning.empty()) chat["reasoning_budget"] = *budget;
  return {};
}

/// The shape that the answer must have, and how hard to think: output_config.
ApiResult<void> add_output_config(const json::object& body, json::object& chat) {
  JsonFields fields(body);
  const json::object* config = fields.object("output_config");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (config == nullptr) return {};
  JsonFields inner(*config, "output_config.");
  if (const auto effort = inner.string("effort")) chat["reasoning_effort"] = *effort;
  if (inner.failed()) return std::unexpected(*inner.error());
  const json::value* format = inner.find("format");
  if (format == nullptr) return {};
  OCTAVO_TRY(const auto shape, typed(*format, "output_config.format"));
  if (shape.second != "json_schema" || !shape.first->contains("schema"))
    return std::unexpected(
        invalid_value("output_config.format", "output_config.format: expected the type json_schema and a schema"));
  chat["response_format"] = {
      {"type", "json_schema"},
      {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", shape.first->at("schema")}}}};
  return {};
}

}  // namespace

ApiResult<CompletionBody> chat_of_messages(const json::object& body, const ModelInfo& info, bool needs_length) {
  CompletionBody made;
  json::object& chat = made.body;
  const JsonFields fields(body);
  for (const std::string_view name : kSameFields)
    if (const json::value* value = fields.find(name)) chat[name] = *value;
  copy_chat_extensions(body, chat);
  if (needs_length && !chat.contains("max_tokens"))
    return std::unexpected(
        invalid_value("max_tokens", "max_tokens: found none, expected the most tokens of the answer"));
  if (const json::value* stop = fields.find("stop_sequences")) chat["stop"] = *stop;
  OCTAVO_TRY_VOID(add_messages(body, chat));
  OCTAVO_TRY_VOID(add_tools(body, made));
  OCTAVO_TRY_VOID(add_tool_choice(body, chat));
  OCTAVO_TRY_VOID(add_thinking(body, info, chat));
  OCTAVO_TRY_VOID(add_output_config(body, chat));
  return made;
}

}  // namespace octavo::server
