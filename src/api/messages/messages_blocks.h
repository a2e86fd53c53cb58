// The messages of Anthropic's Messages API, and their blocks.
// https://docs.anthropic.com/en/api/messages
//
// Free function without state; any thread.
#pragma once

#include <vector>

#include "api/call/api_error.h"
#include "api/call/history_parts.h"
#include "json/json_cursor.h"
#include "octavo/chat.h"

namespace octavo {

/// The messages of a chat that say the same as `system` and the messages `said`. A result of a tool becomes a message
/// of its own, before the rest of what the user says. Errors: there are no messages, or one has a wrong form; those of
/// HistoryReader.
ApiResult<std::vector<ChatMessage>> read_block_messages(const JsonCursor& system, const JsonCursor& said,
                                                        HistoryReader& history);

}  // namespace octavo
