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

/// The messages of a chat that say the same as `system` and the messages `said`. Results of tools become messages of
/// their own, in front of what else the user says. Errors: none, or one of a wrong form; what HistoryReader refuses.
ApiResult<std::vector<ChatMessage>> read_block_messages(const JsonCursor& system, const JsonCursor& said,
                                                        HistoryReader& history);

}  // namespace octavo
