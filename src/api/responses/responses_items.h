// The items of a conversation in OpenAI's Responses API, and the messages of a chat that say the same.
// https://platform.openai.com/docs/api-reference/responses/create
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/call/api_error.h"
#include "api/call/history_parts.h"
#include "json/json_cursor.h"
#include "octavo/chat.h"

namespace octavo {

/// An item that was read. A conversation that has it several times shares it.
struct ConversationItem {
  std::shared_ptr<const boost::json::object> value;
  std::shared_ptr<const std::string> json = {};  // its text as it is stored; null: it is not stored yet
  std::string place = {};                        // its place in the request; empty: it was stored before
};

/// Finds the item that an item_reference names, at `named`. Error: there is none.
using FindItem = std::function<ApiResult<ConversationItem>(std::string_view id, const JsonCursor& named)>;

/// Reads `input`, a text or an array of items. The items have only members that the API documents, and these types:
/// message, function_call, custom_tool_call, the outputs of these two, reasoning, and types that have tools. Items of
/// other types become one of these (foreign_items.h), and parts that the model cannot read become texts
/// (history_parts.h). The client's ids are kept. Reasoning that only its maker can read is left out. Errors: fields of
/// a wrong type; those of `history`.
ApiResult<std::vector<ConversationItem>> read_items(const JsonCursor& input, const FindItem& find,
                                                    HistoryReader& history);

/// The messages of a chat that say the same. `instructions` become the system's first message. Reasoning, text and
/// calls that follow each other become one message of the assistant. `items`: those of read_items(). Errors: those of
/// PictureReader::decode().
ApiResult<std::vector<ChatMessage>> messages_of_items(std::string_view instructions,
                                                      const std::vector<ConversationItem>& items,
                                                      PictureReader& pictures);

}  // namespace octavo
