// The items that a conversation of OpenAI's Responses API is made of, and the messages of a chat that say the same.
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

/// An item that was read. However often a conversation has it, it is there once.
struct ConversationItem {
  std::shared_ptr<const boost::json::object> value;
  std::shared_ptr<const std::string> json = {};  // as it is stored; null: it is not yet
  std::string place = {};                        // in the request; empty: it was stored before
};

/// The item that an item_reference names; an error where there is none. `named`: where.
using FindItem = std::function<ApiResult<ConversationItem>(std::string_view id, const JsonCursor& named)>;

/// `input`, a text or an array of items, as items that have what the API documents of them and nothing else: of type
/// message, function_call, custom_tool_call, the output of one of these, reasoning, or one that has tools. Items of
/// other types become those (foreign_items.h), and parts that the model cannot read become texts (history_parts.h). Ids
/// that the client gave are kept. Reasoning that nobody but its maker can read is left out. Errors: fields of a wrong
/// type; what `history` refuses.
ApiResult<std::vector<ConversationItem>> read_items(const JsonCursor& input, const FindItem& find,
                                                    HistoryReader& history);

/// The messages of a chat. `instructions` are the system's, at the beginning. Reasoning, text and calls that follow
/// each other are one message of the assistant. `items` are read_items()'s. Errors: those of PictureReader::decode().
ApiResult<std::vector<ChatMessage>> messages_of_items(std::string_view instructions,
                                                      const std::vector<ConversationItem>& items,
                                                      PictureReader& pictures);

}  // namespace octavo
