// The bodies of OpenAI's completions, with what vLLM and llama.cpp have added.
// https://platform.openai.com/docs/api-reference/completions/create
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/api_field.h"
#include "api/call/completion.h"
#include "api/call/picture_parts.h"

namespace octavo {

inline constexpr int kMaxAnswersOfCall = 1024;  // the most prompts times n of a call
inline constexpr int kDefaultMaxTokens = 16;    // a completion's, as OpenAI documents it

/// The fields of POST /v1/completions.
ApiFields openai_completion_fields();
ApiResult<ApiRequest> read_openai_completion(const boost::json::object& body, const ApiContext& context);

/// Reads a body and prepares the call.
ApiResult<CompletionCall> parse_completion(const boost::json::object& body, const ModelText& words,
                                           const ServedModel& model);

/// Reads a text, an array of token ids, or an object with a text and its pictures.
ApiResult<TextPrompt> read_text_prompt(const JsonCursor& given, int num_tokens, PictureReader& pictures);

namespace field {

void take_prompt(FieldReader& reader, const ApiField& field);
void take_suffix(FieldReader& reader, const ApiField& field);

// Rows for the members of a prompt with pictures, which are read with the prompt.
constexpr ApiField prompt_string(std::string_view path) {
  return string(path, "", "a text in which each <__media__> stands for a picture");
}
constexpr ApiField multimodal_data(std::string_view path) {
  return array(path, "none", "its pictures in base64, in their order");
}
constexpr ApiField content_parts(std::string_view path) {
  return array(path, "", "in place of `prompt_string`: parts as those of a chat's message");
}
constexpr ApiField image_data() {
  return array("image_data", "none",
               "pictures, each with its base64 as `data` and a number as `id`, by which the prompt has it: [img-ID]");
}

}  // namespace field

/// Fields of completions and of similar calls: limits, and refusals of fields that only chats have.
extern const FieldTable kCompletionFields;

}  // namespace octavo
