// Conversations of an OpenAI client's JSON as the library's values.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/chat.h"

namespace octavo::test {

inline TemplateValue template_value(const boost::json::value& json) {
  switch (json.kind()) {
    case boost::json::kind::null: return {};
    case boost::json::kind::bool_: return json.get_bool();
    case boost::json::kind::int64: return json.get_int64();
    case boost::json::kind::uint64: return static_cast<double>(json.get_uint64());
    case boost::json::kind::double_: return json.get_double();
    case boost::json::kind::string: return std::string(json.get_string());
    case boost::json::kind::array: {
      TemplateList list;
      for (const boost::json::value& item : json.get_array()) list.push_back(template_value(item));
      return list;
    }
    case boost::json::kind::object: break;
  }
  TemplateDict dict;
  for (const auto& member : json.get_object()) dict.emplace_back(member.key(), template_value(member.value()));
  return dict;
}

inline std::string text_member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value == nullptr || !value->is_string() ? std::string() : std::string(value->get_string());
}

inline ChatMessage chat_message(const boost::json::object& json) {
  ChatMessage message{.role = text_member(json, "role"), .content = text_member(json, "content")};
  if (const auto* content = json.if_contains("content"); content != nullptr && content->is_array())
    for (const boost::json::value& part : content->get_array()) {
      const bool is_picture = text_member(part.as_object(), "type") == "image";
      message.parts.push_back({.kind = is_picture ? ContentPart::Kind::kPicture : ContentPart::Kind::kText,
                               .text = text_member(part.as_object(), "text")});
    }
  message.reasoning = text_member(json, "reasoning_content");
  message.tool_call_id = text_member(json, "tool_call_id");
  message.name = text_member(json, "name");
  if (const auto* calls = json.if_contains("tool_calls"))
    for (const boost::json::value& call : calls->as_array()) {
      const boost::json::object& function = call.at("function").as_object();
      message.tool_calls.push_back({.id = text_member(call.as_object(), "id"),
                                    .name = text_member(function, "name"),
                                    .arguments = template_value(function.at("arguments"))});
    }
  return message;
}

inline std::vector<ChatMessage> chat_messages(const boost::json::array& json) {
  std::vector<ChatMessage> messages;
  for (const boost::json::value& message : json) messages.push_back(chat_message(message.as_object()));
  return messages;
}

}  // namespace octavo::test
