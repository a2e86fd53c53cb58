// The fields of chats that several APIs share: what the template can read besides the messages.
//
// Constants, and free functions without state; any thread.
#pragma once

#include <optional>

#include "api/call/api_field.h"
#include "api/call/history_parts.h"
#include "api/call/picture_parts.h"
#include "api/fields/reasoning_fields.h"

namespace octavo {

/// A new request for a chat, whose prompt is in the field `prompt_field`.
ApiRequest chat_request_of(const ServedModel& model, std::string_view prompt_field);
/// The conversation of a request, which is a chat.
Conversation& conversation_in(FieldReader& reader);

/// A reader of the body's pictures for the model that answers; the second function gives a reader of the history with
/// it. Nothing: the body's own fields of pictures are wrong, and the reader has kept the error.
std::optional<PictureReader> pictures_of(FieldReader& reader);
std::optional<HistoryReader> history_of(FieldReader& reader);

/// The fields that say how many tokens a picture of the body may become.
extern const FieldTable kPictureFields;

namespace field {

void take_kwargs(FieldReader& reader, const ApiField& field);
void take_parallel_tool_calls(FieldReader& reader, const ApiField& field);

constexpr ApiField kwargs() {
  return object("chat_template_kwargs", "",
                "names that the chat template finds, such as `enable_thinking`, with any values; not those that it has "
                "by itself",
                take_kwargs);
}
constexpr ApiField parallel_tool_calls() {
  return boolean("parallel_tool_calls", "true", "an answer may have several calls of tools", take_parallel_tool_calls);
}

}  // namespace field
}  // namespace octavo
