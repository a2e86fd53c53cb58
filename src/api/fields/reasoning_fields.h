// The fields that say whether an answer thinks, how hard, and whether its thoughts are shown: those of OpenAI,
// Anthropic, ollama, OpenRouter, llama.cpp, vLLM and SGLang, all of which work in every API. They are known here alone;
// chat/thinking_switch.h knows what the model's template reads.
//
// Constants, and free functions without state; any thread.
#pragma once

#include "api/call/api_field.h"
#include "api/call/api_request.h"
#include "api/call/warnings.h"

namespace octavo {

/// Sets whether the answer thinks, by the value at `given`. Error: another field says the opposite.
void ask_to_think(FieldReader& reader, const JsonCursor& given, bool is_on);
/// Sets how hard the answer thinks: `none` turns thinking off, and any other level asks for it.
void ask_for_effort(FieldReader& reader, const JsonCursor& given);
/// Sets what the template's names in `names` say about thinking.
void ask_by_names(FieldReader& reader, const JsonCursor& given, const boost::json::object& names);

/// Whether reasoning is closed where it begins, because it is not wanted and the template has no switch to turn it off.
bool closes_thinking(const AskedThinking& asked, const ModelInfo& info);
/// Warns the client of wishes that have no effect. `is_chat`: the request has a template.
void warn_of_thinking(const AskedThinking& asked, const ModelInfo& info, bool is_chat, Warnings& warnings);

namespace field {

void take_effort(FieldReader& reader, const ApiField& field);
void take_think(FieldReader& reader, const ApiField& field);

constexpr ApiField effort(std::string_view path,
                          std::string_view text = "how hard to think, for templates that know it; `none`: not at all") {
  return string(path, "the server's, else the template's", text, take_effort);
}

}  // namespace field

// An API that has `thinking` or `reasoning` as an object of its own leaves out that table and takes the others.

/// The switches `enable_thinking` and `think`, and `separate_reasoning`.
extern const FieldTable kThinkingFields;
/// The field `reasoning_effort`.
extern const FieldTable kEffortFields;
/// The object `thinking` of Anthropic's API.
extern const FieldTable kThinkingObjectFields;
/// The object `reasoning` of OpenRouter's API.
extern const FieldTable kReasoningObjectFields;
/// The fields of thinking for completions, which have no template that reads them.
extern const FieldTable kNoThinkingFields;

}  // namespace octavo
