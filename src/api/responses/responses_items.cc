#include "api/responses/responses_items.h"

#include <fmt/format.h>

#include <utility>

#include "api/call/custom_tools.h"
#include "api/responses/foreign_items.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kPictureType = "input_image";

json::object part_of(std::string_view type, std::string_view text) {
  json::object part{{"type", type}, {type == "refusal" ? "refusal" : "text", text}};
  if (type == "output_text") part["annotations"] = json::array();
  return part;
}

json::object picture_part(const FoundPicture& picture) {
  return {{"type", kPictureType},
          {"image_url", picture.data},
          {"detail", picture.detail.empty() ? std::string_view("auto") : picture.detail}};
}

bool is_picture(const json::object& part) { return part.at("type").as_string() == kPictureType; }

std::string_view text_of(const json::object& part) {
  return part.at(part.at("type") == "refusal" ? "refusal" : "text").as_string();
}

ApiResult<std::string_view> needed_text(const JsonCursor& given) { return to_api_result(given.needed_string()); }

/// A string; empty where none is given.
ApiResult<std::string_view> text_at(const JsonCursor& given) {
  OCTAVO_TRY(const auto text, to_api_result(given.string()));
  return text.value_or("");
}

/// Reads items into the form in which they are kept.
class ItemReader {
 public:
  ItemReader(const FindItem& find, HistoryReader& history) : find_(find), history_(history) {}

  /// Reads one item. Empty: it says nothing.
  ApiResult<ConversationItem> read(const JsonCursor& item, bool is_newest) {
    OCTAVO_TRY_VOID(to_api_result(item.needed_object("an item (an object)")));
    OCTAVO_TRY(const auto id, to_api_result(item["id"].string()));
    OCTAVO_TRY(const auto given_type, to_api_result(item["type"].string()));
    const std::string_view type = given_type.value_or(item["role"].is_given() ? "message" : "item_reference");
    if (type == "item_reference") {
      OCTAVO_TRY(const std::string_view named, needed_text(item["id"]));
      return find_(named, item["id"]);
    }
    OCTAVO_TRY(json::object read, read_item(item, type, is_newest));
    if (id && !read.empty()) read["id"] = *id;
    return ConversationItem{.value = std::make_shared<const json::object>(std::move(read)), .place = item.path()};
  }

 private:
  ApiResult<json::object> read_item(const JsonCursor& item, std::string_view type, bool is_newest) {
    if (type == "message") return read_message(item, is_newest);
    if (type == "function_call" || type == "custom_tool_call") return read_call(item, type);
    if (type == "function_call_output" || type == "custom_tool_call_output") return read_call_output(item, type);
    if (type == "computer_call_output" && history_.pictures().sees()) return read_screenshot(item);
    if (type == "reasoning") return read_reasoning(item);
    return read_foreign_item(item, type, history_);
  }

  /// Reads a text or an array of parts as parts. `type`: the type of the parts that are no refusal.
  ApiResult<json::array> read_parts(const JsonCursor& content, std::string_view type, bool is_newest = false) {
    if (const json::string* text = content.if_string()) return json::array{part_of(type, *text)};
    OCTAVO_TRY(const json::array* given, to_api_result(content.array("a string or an array of content parts")));
    json::array parts;
    for (std::size_t i = 0; given != nullptr && i < given->size(); ++i) {
      OCTAVO_TRY(const ReadPart part, history_.read_part(content[i], is_newest));
      if (part.kind == ReadPart::Kind::kNothing) continue;
      if (part.kind == ReadPart::Kind::kPicture) {
        parts.push_back(picture_part(part.picture));
        continue;
      }
      const json::string* found = content[i]["type"].if_string();
      parts.push_back(part_of(found != nullptr && *found == "refusal" ? "refusal" : type, part.text));
    }
    return parts;
  }

  ApiResult<json::object> read_message(const JsonCursor& item, bool is_newest) {
    OCTAVO_TRY(const std::string_view role, needed_text(item["role"]));
    if (role != "user" && role != "assistant" && role != "system" && role != "developer")
      return refused(item["role"].wrong_value("user, assistant, system or developer"));
    const JsonCursor content = item["content"];
    if (!content.is_given() && is_newest) return refused(content.wrong_value("a string or an array of parts"));
    OCTAVO_TRY(json::array parts, read_parts(content, role == "assistant" ? "output_text" : "input_text", is_newest));
    return json::object{{"type", "message"}, {"role", role}, {"content", std::move(parts)}, {"status", "completed"}};
  }

  static ApiResult<json::object> read_call(const JsonCursor& item, std::string_view type) {
    OCTAVO_TRY(const std::string_view id, text_at(item["call_id"]));
    OCTAVO_TRY(const std::string_view name, text_at(item["name"]));
    OCTAVO_TRY(const auto space, to_api_result(item["namespace"].string()));
    const bool is_custom = type == "custom_tool_call";
    const std::string_view member = is_custom ? "input" : "arguments";
    if (is_custom) OCTAVO_TRY_VOID(text_at(item[member]));
    json::object call{{"type", type},
                      {"call_id", id},
                      {"name", name.empty() ? kUnknownTool : name},
                      {member, arguments_text(item[member].value())},
                      {"status", "completed"}};
    if (space) call["namespace"] = *space;
    return call;
  }

  ApiResult<json::object> read_call_output(const JsonCursor& item, std::string_view type) {
    OCTAVO_TRY(const std::string_view id, text_at(item["call_id"]));
    const JsonCursor output = item["output"];
    json::value read(arguments_text(output.value()));
    if (output.if_array() != nullptr) {
      OCTAVO_TRY(read, read_parts(output, "input_text"));
    }
    return json::object{{"type", type}, {"call_id", id}, {"output", std::move(read)}, {"status", "completed"}};
  }

  /// Reads a screenshot: a picture that is the output of a call, which became a call of a function.
  ApiResult<json::object> read_screenshot(const JsonCursor& item) {
    OCTAVO_TRY(const ReadPart part, history_.read_part(item["output"], false));
    json::object read = read_foreign_item(item, "computer_call_output", history_);
    if (part.kind == ReadPart::Kind::kPicture) read["output"] = json::array{picture_part(part.picture)};
    return read;
  }

  /// Reads reasoning: its content, or its summary where it has none. Empty where it has neither: another server
  /// encrypted it.
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

  const FindItem& find_;
  HistoryReader& history_;
};

Speaker speaker_of(const JsonCursor& item) {
  const json::string* role = item["role"].if_string();
  if (role != nullptr && *role == "user") return Speaker::kUser;
  if (role != nullptr && *role != "assistant") return Speaker::kAside;
  const json::string* type = item["type"].if_string();
  const bool is_output = type != nullptr && std::string_view(*type).ends_with("_output");
  return is_output ? Speaker::kTool : Speaker::kModel;
}

/// A part of a content. A picture of a stored item may be one that only another model has seen.
ApiResult<ContentPart> content_part(const JsonCursor& part, PictureReader& pictures) {
  const json::object& object = *part.if_object();
  if (!is_picture(object)) return ContentPart{.text = std::string(text_of(object))};
  if (!pictures.sees()) return ContentPart{.text = unseen("an image")};
  OCTAVO_TRY(const auto found, pictures.find(part, false));
  return found ? pictures.decode(*found) : ContentPart{.text = unseen("an image")};
}

ApiResult<std::vector<ContentPart>> parts_of(const JsonCursor& given, PictureReader& pictures) {
  std::vector<ContentPart> parts;
  for (std::size_t i = 0; i < given.if_array()->size(); ++i) {
    OCTAVO_TRY(parts.emplace_back(), content_part(given[i], pictures));
  }
  return parts;
}

/// A call as a call of the function that stands for its tool.
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

/// The names of tools, one line for each.
std::string names_of(const json::array& tools) {
  std::string names;
  for (const json::value& tool : tools) {
    const json::object* object = tool.if_object();
    const json::value* name = object == nullptr ? nullptr : object->if_contains("name");
    if (name == nullptr || !name->is_string()) continue;
    if (!names.empty()) names += '\n';
    names += std::string_view(name->get_string());
  }
  return names;
}

/// Builds messages. The last one is still added to, if it is the assistant's.
class MessageList {
 public:
  explicit MessageList(PictureReader& pictures) : pictures_(pictures) {}

  ApiResult<void> add(const ConversationItem& given) {
    const json::object& item = *given.value;
    const JsonCursor place(item, given.place.empty() ? kStored : std::string_view(given.place));
    const std::string_view type = item.at("type").as_string();
    if (type == "reasoning") {
      for (const json::value& part : item.at("content").as_array())
        add_thought(text_of(part.as_object()), assistant(false).reasoning);
    } else if (type == "function_call" || type == "custom_tool_call") {
      assistant(true).tool_calls.push_back(call_of(item));
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      const json::value& output = item.at("output");
      ChatMessage result{.role = "tool", .content = {}, .tool_call_id = std::string(item.at("call_id").get_string())};
      if (const json::string* text = output.if_string()) {
        result.content = std::string(*text);
      } else {
        OCTAVO_TRY(result.parts, parts_of(place["output"], pictures_));
      }
      messages_.push_back(std::move(result));
    } else if (type == kFoundTools) {
      messages_.push_back({.role = "tool",
                           .content = names_of(item.at("tools").get_array()),
                           .tool_call_id = std::string(item.at("call_id").get_string())});
    } else if (type == kAdditionalTools) {
      return {};  // the tools are in the prompt already
    } else if (item.at("role") == "assistant") {
      OCTAVO_TRY(assistant(false).parts, parts_of(place["content"], pictures_));
      has_content_ = true;
    } else {
      const std::string_view role = item.at("role").get_string();
      ChatMessage said{.role = std::string(role == "developer" ? "system" : role), .content = {}};
      OCTAVO_TRY(said.parts, parts_of(place["content"], pictures_));
      messages_.push_back(std::move(said));
    }
    return {};
  }
  void add_system(std::string_view text) { messages_.push_back({.role = "system", .content = std::string(text)}); }
  std::vector<ChatMessage> take() { return std::move(messages_); }

 private:
  /// The assistant's message to which reasoning, text or a call is added. A call goes to the last one; reasoning and
  /// text begin a new one where the last one has text or calls.
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

  static constexpr std::string_view kStored = "previous_response_id";  // the place of what was stored before

  PictureReader& pictures_;
  std::vector<ChatMessage> messages_;
  bool has_content_ = false;  // the assistant's last message has text
};

}  // namespace

ApiResult<std::vector<ConversationItem>> read_items(const JsonCursor& input, const FindItem& find,
                                                    HistoryReader& history) {
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
  std::vector<Speaker> speakers;
  speakers.reserve(given->size());
  for (std::size_t i = 0; i < given->size(); ++i) speakers.push_back(speaker_of(input[i]));
  const std::size_t newest = newest_of(speakers);
  ItemReader reader(find, history);
  for (std::size_t i = 0; i < given->size(); ++i) {
    OCTAVO_TRY(ConversationItem item, reader.read(input[i], i == newest));
    if (!item.value->empty()) items.push_back(std::move(item));
  }
  return items;
}

ApiResult<std::vector<ChatMessage>> messages_of_items(std::string_view instructions,
                                                      const std::vector<ConversationItem>& items,
                                                      PictureReader& pictures) {
  MessageList messages(pictures);
  if (!instructions.empty()) messages.add_system(instructions);
  for (const ConversationItem& item : items) OCTAVO_TRY_VOID(messages.add(item));
  return messages.take();
}

}  // namespace octavo
