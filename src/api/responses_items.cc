#include "api/responses_items.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "api/api_error.h"
#include "api/custom_tools.h"
#include "base/error.h"
#include "json/json_cursor.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kParagraph = "\n\n";  // between the parts of reasoning

json::object part_of(std::string_view type, std::string_view text) {
  json::object part{{"type", type}, {type == "refusal" ? "refusal" : "text", text}};
  if (type == "output_text") part["annotations"] = json::array();
  return part;
}

std::string_view text_of(const json::object& part) {
  return part.at(part.at("type") == "refusal" ? "refusal" : "text").as_string();
}

ApiResult<std::string_view> needed_text(const JsonCursor& given) { return to_api_result(given.needed_string()); }

/// The text of a content part, if its type is one that has one.
ApiResult<std::string_view> read_part_text(const JsonCursor& part, std::string_view& type) {
  OCTAVO_TRY_VOID(to_api_result(part.needed_object("a content part (an object)")));
  OCTAVO_TRY(type, needed_text(part["type"]));
  for (const std::string_view known : {"input_text", "output_text", "text", "reasoning_text", "summary_text"})
    if (type == known) return needed_text(part["text"]);
  if (type == "refusal") return needed_text(part["refusal"]);
  return refused(
      part["type"].wrong_value("input_text or output_text: this server reads text only", "unsupported_parameter"));
}

/// A text or an array of parts as parts. `type`: of those that are no refusal.
ApiResult<json::array> read_parts(const JsonCursor& content, std::string_view type) {
  if (const json::string* text = content.if_string()) return json::array{part_of(type, *text)};
  OCTAVO_TRY(const json::array* given, to_api_result(content.array("a string or an array of content parts")));
  json::array parts;
  for (std::size_t i = 0; i < given->size(); ++i) {
    std::string_view found;
    OCTAVO_TRY(const auto text, read_part_text(content[i], found));
    parts.push_back(part_of(found == "refusal" ? found : type, text));
  }
  return parts;
}

ApiResult<json::object> read_message(const JsonCursor& item) {
  OCTAVO_TRY(const std::string_view role, needed_text(item["role"]));
  if (role != "user" && role != "assistant" && role != "system" && role != "developer")
    return refused(item["role"].wrong_value("user, assistant, system or developer"));
  const JsonCursor content = item["content"];
  if (!content.is_given()) return refused(content.wrong_value("a string or an array of parts"));
  OCTAVO_TRY(json::array parts, read_parts(content, role == "assistant" ? "output_text" : "input_text"));
  return json::object{{"type", "message"}, {"role", role}, {"content", std::move(parts)}, {"status", "completed"}};
}

/// The member that holds what a call of this type is made with.
std::string_view called_with(std::string_view type) { return type == "custom_tool_call" ? "input" : "arguments"; }

ApiResult<json::object> read_call(const JsonCursor& item, std::string_view type) {
  OCTAVO_TRY(const std::string_view id, needed_text(item["call_id"]));
  OCTAVO_TRY(const std::string_view name, needed_text(item["name"]));
  if (name.empty()) return refused(item["name"].wrong_value("a tool's name"));
  OCTAVO_TRY(const std::string_view text, needed_text(item[called_with(type)]));
  OCTAVO_TRY(const auto space, to_api_result(item["namespace"].string()));
  json::object call{
      {"type", type}, {"call_id", id}, {"name", name}, {called_with(type), text}, {"status", "completed"}};
  if (space) call["namespace"] = *space;
  return call;
}

ApiResult<json::object> read_call_output(const JsonCursor& item, std::string_view type) {
  OCTAVO_TRY(const std::string_view id, needed_text(item["call_id"]));
  const JsonCursor output = item["output"];
  if (!output.is_given()) return refused(output.wrong_value("a string or an array of parts"));
  json::value read = *output.value();
  if (!read.is_string()) {
    OCTAVO_TRY(read, read_parts(output, "input_text"));
  }
  return json::object{{"type", type}, {"call_id", id}, {"output", std::move(read)}, {"status", "completed"}};
}

/// Its content, or without one its summary. Empty where both are: it was encrypted by another server.
ApiResult<json::object> read_reasoning(const JsonCursor& item) {
  json::array content;
  for (const std::string_view name : {"content", "summary"}) {
    const JsonCursor given = item[name];
    if (!given.is_given() || !content.empty()) continue;
    OCTAVO_TRY(content, read_parts(given, "reasoning_text"));
  }
  if (content.empty()) return json::object();
  return json::object{{"type", "reasoning"}, {"summary", json::array()}, {"content", std::move(content)}};
}

/// Empty: the item says nothing.
ApiResult<ConversationItem> read_item(const JsonCursor& item, const FindItem& find) {
  OCTAVO_TRY_VOID(to_api_result(item.needed_object("an item (an object)")));
  OCTAVO_TRY(const auto id, to_api_result(item["id"].string()));
  OCTAVO_TRY(const auto given_type, to_api_result(item["type"].string()));
  const std::string_view type = given_type.value_or(item["role"].is_given() ? "message" : "item_reference");
  ApiResult<json::object> read;
  if (type == "message") {
    read = read_message(item);
  } else if (type == "function_call" || type == "custom_tool_call") {
    read = read_call(item, type);
  } else if (type == "function_call_output" || type == "custom_tool_call_output") {
    read = read_call_output(item, type);
  } else if (type == "reasoning") {
    read = read_reasoning(item);
  } else if (type == "item_reference") {
    OCTAVO_TRY(const std::string_view named, needed_text(item["id"]));
    return find(named, item["id"]);
  } else {
    return refused(
        item["type"].wrong_value("message, function_call, function_call_output, custom_tool_call, "
                                 "custom_tool_call_output, reasoning or item_reference",
                                 "unsupported_parameter"));
  }
  if (!read) return std::unexpected(std::move(read.error()));
  if (id && !read->empty()) (*read)["id"] = *id;
  return ConversationItem{.value = std::make_shared<const json::object>(std::move(*read))};
}

std::string joined(const json::array& parts, std::string_view between) {
  std::string text;
  for (const json::value& part : parts) {
    if (&part != parts.begin()) text += between;
    text += text_of(part.as_object());
  }
  return text;
}

std::vector<ContentPart> texts_of(const json::array& parts) {
  std::vector<ContentPart> texts;
  for (const json::value& part : parts) texts.push_back({.text = std::string(text_of(part.as_object()))});
  return texts;
}

/// A call as one of the function that stands for its tool.
ToolCall call_of(const json::object& item) {
  const json::value* space = item.if_contains("namespace");
  const json::value* input = item.if_contains("input");
  ToolCall call{.id = std::string(item.at("call_id").get_string()),
                .name = qualified_name(space == nullptr ? std::string_view() : space->get_string(),
                                       std::string_view(item.at("name").get_string()))};
  call.arguments =
      input == nullptr ? std::string(item.at("arguments").get_string()) : arguments_of_input(input->get_string());
  return call;
}

/// Builds messages, of which the assistant's last one may still be added to.
class MessageList {
 public:
  void add(const json::object& item) {
    const std::string_view type = item.at("type").as_string();
    if (type == "reasoning") {
      assistant(false).reasoning = joined(item.at("content").as_array(), kParagraph);
    } else if (type == "function_call" || type == "custom_tool_call") {
      assistant(true).tool_calls.push_back(call_of(item));
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      const json::value& output = item.at("output");
      ChatMessage result{.role = "tool", .content = {}, .tool_call_id = std::string(item.at("call_id").get_string())};
      if (const json::string* text = output.if_string()) {
        result.content = std::string(*text);
      } else {
        result.parts = texts_of(output.get_array());
      }
      messages_.push_back(std::move(result));
    } else if (item.at("role") == "assistant") {
      assistant(false).parts = texts_of(item.at("content").as_array());
      has_content_ = true;
    } else {
      const std::string_view role = item.at("role").get_string();
      messages_.push_back({.role = std::string(role == "developer" ? "system" : role),
                           .content = {},
                           .parts = texts_of(item.at("content").as_array())});
    }
  }
  void add_system(std::string_view text) { messages_.push_back({.role = "system", .content = std::string(text)}); }
  std::vector<ChatMessage> take() { return std::move(messages_); }

 private:
  /// The assistant's message that reasoning, text or a call belongs to. A call follows whatever is in it; reasoning and
  /// text begin another one behind text and calls.
  ChatMessage& assistant(bool is_call) {
    ChatMessage* last = messages_.empty() ? nullptr : &messages_.back();
    const bool is_open =
        last != nullptr && last->role == "assistant" && (is_call || (!has_content_ && last->tool_calls.empty()));
    if (!is_open) {
      messages_.push_back({.role = "assistant", .content = {}});
      has_content_ = false;
    }
    return messages_.back();
  }

  std::vector<ChatMessage> messages_;
  bool has_content_ = false;  // the assistant's last one
};

}  // namespace

ApiResult<std::vector<ConversationItem>> read_items(const JsonCursor& input, const FindItem& find) {
  constexpr std::string_view kForms = "a string or an array of items";
  std::vector<ConversationItem> items;
  if (!input.is_given()) return refused(input.wrong_value(kForms));
  if (const json::string* text = input.if_string()) {
    json::object message{{"type", "message"},
                         {"role", "user"},
                         {"content", json::array{part_of("input_text", *text)}},
                         {"status", "completed"}};
    items.push_back({.value = std::make_shared<const json::object>(std::move(message))});
    return items;
  }
  OCTAVO_TRY(const json::array* given, to_api_result(input.array(kForms)));
  for (std::size_t i = 0; i < given->size(); ++i) {
    OCTAVO_TRY(ConversationItem item, read_item(input[i], find));
    if (!item.value->empty()) items.push_back(std::move(item));
  }
  return items;
}

std::vector<ChatMessage> messages_of_items(std::string_view instructions, const std::vector<ConversationItem>& items) {
  MessageList messages;
  if (!instructions.empty()) messages.add_system(instructions);
  for (const ConversationItem& item : items) messages.add(*item.value);
  return messages.take();
}

}  // namespace octavo
