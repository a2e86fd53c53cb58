// The fields that say whether an answer thinks, how hard, and whether its thoughts are shown: the words of OpenAI,
// Anthropic, ollama, OpenRouter, llama.cpp, vLLM and SGLang for it, which hold in every API. Here is the one place that
// knows them; chat/thinking_switch.h knows what the model's template reads.
//
// Constants, and free functions without state; any thread.
#pragma once

#include "api/call/api_field.h"
#include "api/call/api_request.h"
#include "api/call/warnings.h"

namespace octavo {

/// Keeps whether the answer thinks, as the value at `given` says. Error: another field says the opposite.
void ask_to_think(FieldReader& reader, const JsonCursor& given, bool is_on);
/// Keeps how hard: `none` is not at all, and any other level is a wish to think.
void ask_for_effort(FieldReader& reader, const JsonCursor& given);
/// Keeps what names for the template say of it.
void ask_by_names(FieldReader& reader, const JsonCursor& given, const boost::json::object& names);

/// Whether reasoning is closed where it begins, because the template has no switch to turn it off.
bool closes_thinking(const AskedThinking& asked, const ModelInfo& info);
/// Tells the client what has no effect. `is_chat`: there is a template at all.
void warn_of_thinking(const AskedThinking& asked, const ModelInfo& info, bool is_chat, Warnings& warnings);

namespace field {

void take_effort(FieldReader& reader, const ApiField& field);
void take_think(FieldReader& reader, const ApiField& field);

constexpr ApiField effort(std::string_view path,
                          std::string_view text = "how hard to think, for templates that know it; `none`: not at all") {
  return string(path, "the server's, else the template's", text, take_effort);
}

}  // namespace field

// An API that has one of the objects by itself takes the other tables.

/// Switches by name: `enable_thinking`, `think`, and whether thoughts stand apart.
extern const FieldTable kThinkingFields;
/// `reasoning_effort`.
extern const FieldTable kEffortFields;
/// Anthropic's object `thinking`.
extern const FieldTable kThinkingObjectFields;
/// OpenRouter's object `reasoning`.
extern const FieldTable kReasoningObjectFields;
/// The same fields where no template could read them.
extern const FieldTable kNoThinkingFields;

}  // namespace octavo
