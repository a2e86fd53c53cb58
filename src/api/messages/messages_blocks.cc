#include "api/messages/messages_blocks.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "api/call/template_names.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

/// The beginning of a block that coding agents put before the system text, with a checksum that changes in every
/// request: with it, no two requests would have a beginning in common.
constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";

constexpr std::string_view kContent = "a string or an array of blocks";

/// A string; empty where none is given.
ApiResult<std::string> text_of(const JsonCursor& given) {
  OCTAVO_TRY(const auto text, to_api_result(given.string()));
  return std::string(text.value_or(""));
}

bool has_type(const JsonCursor& block, std::string_view type) {
  const json::string* given = block["type"].if_string();
  return given != nullptr && *given == type;
}

bool has_result(const JsonCursor& content) {
  const json::array* blocks = content.if_array();
  for (std::size_t i = 0; blocks != nullptr && i < blocks->size(); ++i)
    if (has_type(content[i], "tool_result")) return true;
  return false;
}

Speaker speaker_of(const JsonCursor& message) {
  const json::string* role = message["role"].if_string();
  if (role == nullptr || *role == "system") return Speaker::kAside;
  if (*role != "user") return Speaker::kModel;
  return has_result(message["content"]) ? Speaker::kTool : Speaker::kUser;
}

ApiResult<ToolCall> read_call(const JsonCursor& block) {
  ToolCall call;
  OCTAVO_TRY(call.id, text_of(block["id"]));
  OCTAVO_TRY(call.name, text_of(block["name"]));
  if (call.name.empty()) call.name = kUnknownTool;
  const JsonCursor input = block["input"];
  if (const json::object* object = input.if_object()) {
    call.arguments = template_value(*object);
  } else {
    call.arguments = arguments_text(input.value());
  }
  return call;
}

/// Reads one message, out of which results of tools make several.
class BlockReader {
 public:
  BlockReader(std::string_view role, bool is_newest, HistoryReader& history)
      : said_({.role = std::string(role), .content = {}}), is_newest_(is_newest), history_(history) {}

  ApiResult<void> read(const JsonCursor& content, std::vector<ChatMessage>& messages) {
    if (!content.is_given() && is_newest_) return refused(content.wrong_value(kContent));
    OCTAVO_TRY_VOID(read_content(content, said_));
    const bool is_user = said_.role == "user";
    const json::array* blocks = content.if_array();
    // A message without content is kept, so that the order of messages is the client's; but not beside results or at
    // the start.
    const bool is_said =
        !said_.parts.empty() || !is_user || blocks == nullptr || (results_.empty() && !messages.empty());
    if (!is_user) messages.push_back(std::move(said_));
    for (ChatMessage& result : results_) messages.push_back(std::move(result));
    if (is_user && is_said) messages.push_back(std::move(said_));
    return {};
  }

 private:
  ApiResult<void> read_content(const JsonCursor& content, ChatMessage& message) {
    if (const json::string* text = content.if_string()) {
      message.content = std::string(*text);
      return {};
    }
    OCTAVO_TRY(const json::array* blocks, to_api_result(content.array(kContent)));
    for (std::size_t i = 0; blocks != nullptr && i < blocks->size(); ++i)
      OCTAVO_TRY_VOID(read_block(content[i], message));
    return {};
  }

  ApiResult<void> read_block(const JsonCursor& block, ChatMessage& message) {
    const bool is_inside = &message != &said_;  // the part is inside a result
    if (!is_inside && has_type(block, "tool_result")) return read_result(block);
    if (!is_inside && message.role == "assistant" && has_type(block, "tool_use")) {
      OCTAVO_TRY(message.tool_calls.emplace_back(), read_call(block));
      return {};
    }
    const bool is_new = is_newest_ && !is_inside;
    // A block without a type is refused, even in the history.
    if (!is_new && block.if_object() != nullptr) OCTAVO_TRY_VOID(to_api_result(block["type"].needed_string()));
    OCTAVO_TRY(ReadPart part, history_.read_part(block, is_new));
    return history_.add(std::move(part), message);
  }

  ApiResult<void> read_result(const JsonCursor& block) {
    ChatMessage result{.role = "tool", .content = {}};
    OCTAVO_TRY(result.tool_call_id, text_of(block["tool_use_id"]));
    OCTAVO_TRY_VOID(read_content(block["content"], result));
    results_.push_back(std::move(result));
    return {};
  }

  ChatMessage said_;
  std::vector<ChatMessage> results_ = {};
  bool is_newest_;
  HistoryReader& history_;
};

ApiResult<void> add_system(const JsonCursor& system, HistoryReader& history, std::vector<ChatMessage>& messages) {
  if (!system.is_given()) return {};
  OCTAVO_TRY_VOID(BlockReader("system", false, history).read(system, messages));
  std::vector<ContentPart>& parts = messages.back().parts;
  if (!parts.empty() && parts.front().text.starts_with(kBillingHeader)) parts.erase(parts.begin());
  if (system.if_array() != nullptr && parts.empty()) messages.pop_back();
  return {};
}

ApiResult<void> add_message(const JsonCursor& given, bool is_newest, HistoryReader& history,
                            std::vector<ChatMessage>& messages) {
  OCTAVO_TRY_VOID(to_api_result(given.needed_object("a message (an object)")));
  OCTAVO_TRY(const std::string_view role, to_api_result(given["role"].needed_string()));
  if (role != "user" && role != "assistant" && role != "system")
    return refused(given["role"].error(fmt::format("found '{}', expected user, assistant or system", role)));
  return BlockReader(role, is_newest, history).read(given["content"], messages);
}

}  // namespace

ApiResult<std::vector<ChatMessage>> read_block_messages(const JsonCursor& system, const JsonCursor& said,
                                                        HistoryReader& history) {
  const json::array* given = said.if_array();
  if (given == nullptr || given->empty())
    return refused(said.error("found none, expected an array of at least one message"));
  std::vector<ChatMessage> messages;
  OCTAVO_TRY_VOID(add_system(system, history, messages));
  std::vector<Speaker> speakers;
  speakers.reserve(given->size());
  for (std::size_t i = 0; i < given->size(); ++i) speakers.push_back(speaker_of(said[i]));
  const std::size_t newest = newest_of(speakers);
  for (std::size_t i = 0; i < given->size(); ++i) OCTAVO_TRY_VOID(add_message(said[i], i == newest, history, messages));
  if (messages.empty()) return refused(said.error("found no content, expected a block at least"));
  return messages;
}

}  // namespace octavo
