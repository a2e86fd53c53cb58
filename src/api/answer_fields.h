// The fields of how an answer is given: streamed or whole, with log-probabilities, with its reasoning; and how long it
// may get. Constants; any thread.
#pragma once

#include "api/api_field.h"

namespace octavo {

inline constexpr std::size_t kMaxSaltBytes = 1024;

namespace field {

void take_model(FieldReader& reader, const ApiField& field);
/// A switch that cannot be on, for the reason in the row's text.
void refuse_switch(FieldReader& reader, const ApiField& field);
void take_cache_salt(FieldReader& reader, const ApiField& field);
/// A limit of tokens, of which 0 is a mistake.
void take_length(FieldReader& reader, const ApiField& field);
/// The same where 0 means that the prompt is computed and nothing is written.
void take_length_or_none(FieldReader& reader, const ApiField& field);
void take_budget(FieldReader& reader, const ApiField& field);

constexpr ApiField model(std::string_view path = "model") {
  return {.path = path,
          .form = FieldForm::kString,
          .otherwise = "the first",
          .text = "an id in /v1/models, or an alias; an empty text is no name",
          .take = take_model};
}
constexpr ApiField stream(std::string_view otherwise = "false") {
  return {.path = "stream",
          .form = FieldForm::kBoolean,
          .otherwise = otherwise,
          .text = "the answer is sent piece by piece, as it is made",
          .take = into<&ApiRequest::form, &AnswerForm::stream>};
}
constexpr ApiField cache_salt() {
  return {.path = "cache_salt",
          .form = FieldForm::kString,
          .text = "only requests with the same salt, and key, share cached prompts; at most 1,024 bytes",
          .take = take_cache_salt};
}
constexpr ApiField length(std::string_view path, std::string_view otherwise, std::string_view text,
                          void (*take)(FieldReader&, const ApiField&) = take_length) {
  return {.path = path, .form = FieldForm::kInteger, .min = -2, .otherwise = otherwise, .text = text, .take = take};
}
/// `logprobs` as a switch, and `top_logprobs` behind it, as how many alternatives each token has: a number alone asks
/// for both.
void take_logprobs(FieldReader& reader, const ApiField& field);
void take_top_logprobs(FieldReader& reader, const ApiField& field);

constexpr ApiField logprobs() {
  return {.path = "logprobs",
          .form = FieldForm::kBoolean,
          .otherwise = "false",
          .text = "log-probabilities of the answer's tokens",
          .take = take_logprobs};
}
constexpr ApiField top_logprobs(void (*take)(FieldReader&, const ApiField&) = take_top_logprobs) {
  return {.path = "top_logprobs",
          .form = FieldForm::kInteger,
          .min = 0,
          .max = kMaxTopLogprobs,
          .otherwise = "0",
          .text = "alternatives beside each token; above 0 they ask for log-probabilities as well",
          .take = take};
}
constexpr ApiField budget(std::string_view path, std::string_view text, double min = -1) {
  return {.path = path,
          .form = FieldForm::kInteger,
          .min = min,
          .max = std::numeric_limits<int>::max(),
          .otherwise = "the server's",
          .text = text,
          .take = take_budget};
}

}  // namespace field

/// The name of the model.
extern const FieldTable kModelFields;
/// Fields of completions and chats alike: streaming, ids of tokens, the salt of the cache.
extern const FieldTable kStreamFields;
/// Fields of chats: reasoning, how it is shown, and how much of it there may be.
extern const FieldTable kReasoningFields;
/// OpenAI's form of the answer's text.
extern const FieldTable kFormatFields;
/// Fields of OpenAI's that change no answer.
extern const FieldTable kHintFields;
/// Fields that OpenAI, vLLM or llama.cpp know, and that ask for something that there is not here.
extern const FieldTable kUnsupportedFields;

}  // namespace octavo
