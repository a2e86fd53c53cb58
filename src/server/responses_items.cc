#include "server/responses_items.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "server/custom_tools.h"
#include "server/json_fields.h"

namespace octavo::server {
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

/// The text of a content part, if its type is one that has one.
ApiResult<std::string_view> read_part_text(const json::value& value, const std::string& place, std::string_view& type) {
  const json::object* part = value.if_object();
  if (part == nullptr) return std::unexpected(invalid_type(place, "a content part (an object)", value));
  JsonFields fields(*part, place + ".");
  OCTAVO_TRY(type, fields.needed_string("type"));
  for (const std::string_view known : {"input_text", "output_text", "text", "reasoning_text", "summary_text"})
    if (type == known) return fields.needed_string("text");
  if (type == "refusal") return fields.needed_string("refusal");
  return std::unexpected(unsupported(
      place, fmt::format("{}: found {} as the type, expected input_text or output_text: this server reads text only",
                         place, describe(json::value(type)))));
}

/// A text or an array of parts as parts. `type`: of those that are no refusal.
ApiResult<json::array> read_parts(const json::value& content, const std::string& place, std::string_view type) {
  if (content.is_string()) return json::array{part_of(type, content.get_string())};
  const json::array* given = content.if_array();
  if (given == nullptr) return std::unexpected(invalid_type(place, "a string or an array of content parts", content));
  json::array parts;
  for (std::size_t i = 0; i < given->size(); ++i) {
    std::string_view found;
    OCTAVO_TRY(const auto text, read_part_text((*given)[i], fmt::format("{}[{}]", place, i), found));
    parts.push_back(part_of(found == "refusal" ? found : type, text));
  }
  return parts;
}

ApiResult<json::object> read_message(const json::object& item, const std::string& place) {
  JsonFields fields(item, place + ".");
  OCTAVO_TRY(const std::string_view role, fields.needed_string("role"));
  if (role != "user" && role != "assistant" && role != "system" && role != "developer")
    return std::unexpected(
        invalid_value(place + ".role", fmt::format("{}.role: found {}, expected user, assistant, system or developer",
                                                   place, describe(json::value(role)))));
  const json::value* content = fields.find("content");
  if (content == nullptr)
    return std::unexpected(
        invalid_value(place + ".content", place + ".content: found none, expected a string or an array of parts"));
  OCTAVO_TRY(json::array parts,
             read_parts(*content, place + ".content", role == "assistant" ? "output_text" : "input_text"));
  return json::object{{"type", "message"}, {"role", role}, {"content", std::move(parts)}, {"status", "completed"}};
}

/// The member that holds what a call of this type is made with.
std::string_view called_with(std::string_view type) { return type == "custom_tool_call" ? "input" : "arguments"; }

ApiResult<json::object> read_call(const json::object& item, std::string_view type, const std::string& place) {
  JsonFields fields(item, place + ".");
  OCTAVO_TRY(const std::string_view id, fields.needed_string("call_id"));
  OCTAVO_TRY(const std::string_view name, fields.needed_string("name"));
  OCTAVO_TRY(const std::string_view text, fields.needed_string(called_with(type)));
  const auto space = fields.string("namespace");
  if (fields.failed()) return std::unexpected(*fields.error());
  json::object call{
      {"type", type}, {"call_id", id}, {"name", name}, {called_with(type), text}, {"status", "completed"}};
  if (space) call["namespace"] = *space;
  return call;
}

ApiResult<json::object> read_call_output(const json::object& item, std::string_view type, const std::string& place) {
  JsonFields fields(item, place + ".");
  OCTAVO_TRY(const std::string_view id, fields.needed_string("call_id"));
  const json::value* output = fields.find("output");
  if (output == nullptr)
    return std::unexpected(
        invalid_value(place + ".output", place + ".output: found none, expected a string or an array of parts"));
  json::value read = *output;
  if (!output->is_string()) {
    OCTAVO_TRY(read, read_parts(*output, place + ".output", "input_text"));
  }
  return json::object{{"type", type}, {"call_id", id}, {"output", std::move(read)}, {"status", "completed"}};
}

/// Its content, or without one its summary. Empty where both are: it was encrypted by another server.
ApiResult<json::object> read_reasoning(const json::object& item, const std::string& place) {
  const JsonFields fields(item, place + ".");
  json::array content;
  for (const std::string_view name : {"content", "summary"}) {
    const json::value* given = fields.find(name);
    if (given == nullptr || !content.empty()) continue;
    OCTAVO_TRY(content, read_parts(*given, fields.path_of(name), "reasoning_text"));
  }
  if (content.empty()) return json::object();
  return json::object{{"type", "reasoning"}, {"summary", json::array()}, {"content", std::move(content)}};
}

/// Empty: the item says nothing.
ApiResult<ConversationItem> read_item(const json::value& value, const std::string& place, const FindItem& find) {
  const json::object* item = value.if_object();
  if (item == nullptr) return std::unexpected(invalid_type(place, "an item (an object)", value));
  JsonFields fields(*item, place + ".");
  const auto id = fields.string("id");
  const auto given_type = fields.string("type");
  if (fields.failed()) return std::unexpected(*fields.error());
  const std::string_view type = given_type.value_or(fields.find("role") != nullptr ? "message" : "item_reference");
  ApiResult<json::object> read;
  if (type == "message") {
    read = read_message(*item, place);
  } else if (type == "function_call" || type == "custom_tool_call") {
    read = read_call(*item, type, place);
  } else if (type == "function_call_output" || type == "custom_tool_call_output") {
    read = read_call_output(*item, type, place);
  } else if (type == "reasoning") {
    read = read_reasoning(*item, place);
  } else if (type == "item_reference") {
    OCTAVO_TRY(const std::string_view named, fields.needed_string("id"));
    return find(named, place + ".id");
  } else {
    return std::unexpected(unsupported(
        place + ".type", fmt::format("{}.type: found {}, expected message, function_call, function_call_output, "
                                     "custom_tool_call, custom_tool_call_output, reasoning or item_reference",
                                     place, describe(json::value(type)))));
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

json::array chat_parts(const json::array& parts) {
  json::array made;
  for (const json::value& part : parts)
    made.push_back(json::object{{"type", "text"}, {"text", text_of(part.as_object())}});
  return made;
}

/// A call as one of the function that stands for its tool.
json::object chat_call(const json::object& item) {
  const json::value* space = item.if_contains("namespace");
  const json::value* input = item.if_contains("input");
  const std::string name = qualified_name(space == nullptr ? std::string_view() : space->get_string(),
                                          std::string_view(item.at("name").get_string()));
  const json::value arguments =
      input == nullptr ? item.at("arguments") : json::value(arguments_of_input(input->get_string()));
  return {{"id", item.at("call_id")}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

/// Builds messages, of which the assistant's last one may still be added to.
class MessageList {
 public:
  void add(const json::object& item) {
    const std::string_view type = item.at("type").as_string();
    if (type == "reasoning") {
      assistant(false)["reasoning_content"] = joined(item.at("content").as_array(), kParagraph);
    } else if (type == "function_call" || type == "custom_tool_call") {
      json::object& message = assistant(true);
      if (!message.contains("tool_calls")) message["tool_calls"] = json::array();
      message["tool_calls"].as_array().push_back(chat_call(item));
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      const json::value& output = item.at("output");
      messages_.push_back(
          json::object{{"role", "tool"},
                       {"tool_call_id", item.at("call_id")},
                       {"content", output.is_string() ? output : json::value(chat_parts(output.as_array()))}});
    } else if (item.at("role") == "assistant") {
      assistant(false)["content"] = chat_parts(item.at("content").as_array());
    } else {
      messages_.push_back(
          json::object{{"role", item.at("role")}, {"content", chat_parts(item.at("content").as_array())}});
    }
  }
  void add_system(std::string_view text) { messages_.push_back(json::object{{"role", "system"}, {"content", text}}); }
  json::array take() { return std::move(messages_); }

 private:
  /// The assistant's message that reasoning, text or a call belongs to. A call follows whatever is in it; reasoning and
  /// text begin another one behind text and calls.
  json::object& assistant(bool is_call) {
    json::object* last = messages_.empty() ? nullptr : &messages_.back().as_object();
    const bool is_open = last != nullptr && last->at("role") == "assistant" &&
                         (is_call || (!last->contains("content") && !last->contains("tool_calls")));
    if (!is_open) messages_.push_back(json::object{{"role", "assistant"}});
    return messages_.back().as_object();
  }

  json::array messages_;
};

}  // namespace

ApiResult<std::vector<ConversationItem>> read_items(const json::value& input, const FindItem& find) {
  std::vector<ConversationItem> items;
  if (const json::string* text = input.if_string()) {
    json::object message{{"type", "message"},
                         {"role", "user"},
                         {"content", json::array{part_of("input_text", *text)}},
                         {"status", "completed"}};
    items.push_back({.value = std::make_shared<const json::object>(std::move(message))});
    return items;
  }
  const json::array* given = input.if_array();
  if (given == nullptr) return std::unexpected(invalid_type("input", "a string or an array of items", input));
  for (std::size_t i = 0; i < given->size(); ++i) {
    OCTAVO_TRY(ConversationItem item, read_item((*given)[i], fmt::format("input[{}]", i), find));
    if (!item.value->empty()) items.push_back(std::move(item));
  }
  return items;
}

json::array messages_of_items(std::string_view instructions, const std::vector<ConversationItem>& items) {
  MessageList messages;
  if (!instructions.empty()) messages.add_system(instructions);
  for (const ConversationItem& item : items) messages.add(*item.value);
  return messages.take();
}

}  // namespace octavo::server
