// Bodies of OpenAI's completions, with what vLLM and llama.cpp have added to them.
// https://platform.openai.com/docs/api-reference/completions/create
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/api_field.h"
#include "api/call/completion.h"

namespace octavo {

inline constexpr int kMaxAnswersOfCall = 1024;  // prompts times n
inline constexpr int kDefaultMaxTokens = 16;    // of a completion, as OpenAI documents

/// POST /v1/completions.
ApiFields openai_completion_fields();
ApiResult<ApiRequest> read_openai_completion(const boost::json::object& body, const ApiContext& context);

/// A body read and prepared.
ApiResult<CompletionCall> parse_completion(const boost::json::object& body, const ModelText& words,
                                           const ServedModel& model);

/// A text, or an array of its token ids.
ApiResult<TextPrompt> read_text_or_ids(const JsonCursor& given, int num_tokens);

namespace field {

void take_prompt(FieldReader& reader, const ApiField& field);
void take_suffix(FieldReader& reader, const ApiField& field);

}  // namespace field

/// Fields of completions and their like: limits, and refusals of fields that are of chats alone.
extern const FieldTable kCompletionFields;

}  // namespace octavo
