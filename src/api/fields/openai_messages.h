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

/// The string that is given, or none.
ApiResult<void> read_text(const JsonCursor& given, std::string& text);
/// The name and the arguments of a call. Arguments that are neither an object nor a text are their JSON; a call without
/// a name is one of kUnknownTool.
ApiResult<ToolCall> read_called(const JsonCursor& function);
/// The number of calls in a message. Error: it is no assistant's.
ApiResult<std::size_t> count_calls(const JsonCursor& calls, std::string_view role);
/// system, user, assistant or tool, by OpenAI's newer and older names as well.
ApiResult<std::string> read_role(const JsonCursor& given);
/// `content`: a text, or an array of parts. The message's role is read before. Errors: a value of another type; what
/// the user gives in the newest message is missing, or no text.
ApiResult<void> read_content(const JsonCursor& content, bool is_newest, HistoryReader& history, ChatMessage& message);
/// The index of the user's newest message, as newest_of() has it.
std::size_t newest_message(const JsonCursor& messages, std::size_t count);

/// The parts of messages, as read_openai_messages() takes them.
extern const FieldTable kMessagePartFields;

/// Errors: none, or one of a wrong form; what `history` refuses.
ApiResult<std::vector<ChatMessage>> read_openai_messages(const JsonCursor& given, HistoryReader& history);

}  // namespace octavo
