// A request as OpenAI's chats would have it: one form in which tests compare what the APIs read.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "api/call/api_request.h"

namespace octavo {

inline boost::json::value json_of(const TemplateValue& value) {
  namespace json = boost::json;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const double* number = std::get_if<double>(&value)) return *number;
  if (const std::string* text = std::get_if<std::string>(&value)) return json::value(*text);
  if (const TemplateList* list = std::get_if<TemplateList>(&value)) {
    json::array array;
    for (const TemplateValue& element : *list) array.push_back(json_of(element));
    return array;
  }
  const TemplateDict* dict = std::get_if<TemplateDict>(&value);
  if (dict == nullptr) return nullptr;
  json::object object;
  for (const auto& [name, member] : *dict) object[name] = json_of(member);
  return object;
}

inline boost::json::object shown(const ChatMessage& message) {
  namespace json = boost::json;
  json::object made{{"role", message.role}};
  json::array parts, calls;
  for (const ContentPart& part : message.parts) parts.push_back(json::object{{"type", "text"}, {"text", part.text}});
  for (const ToolCall& call : message.tool_calls)
    calls.push_back(json::object{{"id", call.id},
                                 {"type", "function"},
                                 {"function", {{"name", call.name}, {"arguments", json_of(call.arguments)}}}});
  if (!parts.empty()) made["content"] = std::move(parts);
  if (!message.content.empty()) made["content"] = message.content;
  if (!message.reasoning.empty()) made["reasoning_content"] = message.reasoning;
  if (!calls.empty()) made["tool_calls"] = std::move(calls);
  if (!message.tool_call_id.empty()) made["tool_call_id"] = message.tool_call_id;
  if (!message.name.empty()) made["name"] = message.name;
  return made;
}

/// The messages and the tools of a conversation.
inline boost::json::object shown(const Conversation& conversation) {
  boost::json::array messages;
  for (const ChatMessage& message : conversation.messages) messages.push_back(shown(message));
  return {{"messages", std::move(messages)},
          {"tools", json_of(conversation.options.tools)},
          {"names", json_of(conversation.options.names)}};
}

}  // namespace octavo
