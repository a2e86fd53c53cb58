// The messages of OpenAI's chats.
// https://platform.openai.com/docs/api-reference/chat/create
//
// Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/api_field.h"
#include "json/json_cursor.h"
#include "octavo/chat.h"

namespace octavo {

/// The string that is given, or none.
ApiResult<void> read_text(const JsonCursor& given, std::string& text);
/// The name and the arguments of a call; `forms`: the forms that arguments have, for the error.
ApiResult<ToolCall> read_called(const JsonCursor& function, std::string_view forms);
/// The number of calls in a message. Error: it is no assistant's.
ApiResult<std::size_t> count_calls(const JsonCursor& calls, std::string_view role);
/// system, user, assistant or tool, by OpenAI's newer and older names as well.
ApiResult<std::string> read_role(const JsonCursor& given);
/// `content`: a text, or an array of parts that are texts. An assistant may have said nothing; its role is read before.
ApiResult<void> read_content(const JsonCursor& content, ChatMessage& message);

/// The parts of messages, as read_openai_messages() takes them.
extern const FieldTable kMessagePartFields;

/// Errors: none, or one of a wrong form; content that is no text.
ApiResult<std::vector<ChatMessage>> read_openai_messages(const JsonCursor& given);

}  // namespace octavo
