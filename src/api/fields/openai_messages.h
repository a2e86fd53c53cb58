// The messages of OpenAI's chats.
// https://platform.openai.com/docs/api-reference/chat/create
//
// Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/call/api_error.h"
#include "api/call/api_field.h"
#include "api/call/history_parts.h"
#include "json/json_cursor.h"
#include "octavo/chat.h"

namespace octavo {

/// Reads a string, if one is given.
ApiResult<void> read_text(const JsonCursor& given, std::string& text);
/// The name and the arguments of a call. Arguments that are no string are written as JSON; a call without a name is one
/// of kUnknownTool.
ApiResult<ToolCall> read_called(const JsonCursor& function);
/// The number of calls in a message. Error: the message is not the assistant's.
ApiResult<std::size_t> count_calls(const JsonCursor& calls, std::string_view role);
/// The role: system, user, assistant or tool, under OpenAI's newer or older names.
ApiResult<std::string> read_role(const JsonCursor& given);
/// Reads `content`, a string or an array of parts, into a message whose role is known. Errors: a value of another type;
/// in the newest message of the user, content that is missing or no text.
ApiResult<void> read_content(const JsonCursor& content, bool is_newest, HistoryReader& history, ChatMessage& message);
/// The index of the user's newest message, by newest_of().
std::size_t newest_message(const JsonCursor& messages, std::size_t count);

/// The fields of messages that read_openai_messages() reads.
extern const FieldTable kMessagePartFields;

/// Reads messages. Errors: there are none, or one has a wrong form; those of `history`.
ApiResult<std::vector<ChatMessage>> read_openai_messages(const JsonCursor& given, HistoryReader& history);

}  // namespace octavo
