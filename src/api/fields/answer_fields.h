// The fields of how an answer is given: streamed or whole, with log-probabilities, with its reasoning; and how long it
// may get. Constants; any thread.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

inline constexpr std::size_t kMaxSaltBytes = 1024;

namespace field {

void take_model(FieldReader& reader, const ApiField& field);
/// Refuses a switch that is on, for the reason in the row's text.
void refuse_switch(FieldReader& reader, const ApiField& field);
void take_cache_salt(FieldReader& reader, const ApiField& field);
/// Takes a limit of tokens; 0 is refused.
void take_length(FieldReader& reader, const ApiField& field);
/// Takes a limit of tokens; 0 means that the prompt is computed and nothing is generated.
void take_length_or_none(FieldReader& reader, const ApiField& field);
void take_budget(FieldReader& reader, const ApiField& field);

constexpr ApiField model(std::string_view path = "model") {
  return string(path, "the first that answers such calls", "an id in /v1/models, or an alias; an empty text is no name",
                take_model);
}
constexpr ApiField stream(std::string_view otherwise = "false") {
  return boolean("stream", otherwise, "the answer is sent piece by piece, as it is made",
                 into<&ApiRequest::form, &AnswerForm::stream>);
}
constexpr ApiField tagged_events() {
  return boolean(
      "return_token_ids", "false",
      "events have in `token_ids` the tokens that they bring the client up to, a whole answer has all of them",
      into<&ApiRequest::form, &AnswerForm::return_token_ids>);
}
constexpr ApiField cache_salt() {
  return string("cache_salt", "",
                "only requests with the same salt, and key, share cached prompts; at most 1,024 bytes",
                take_cache_salt);
}
constexpr ApiField length(std::string_view path, std::string_view otherwise, std::string_view text,
                          void (*take)(FieldReader&, const ApiField&) = take_length) {
  return integer(path, -2, kNoMax, otherwise, text, take);
}
/// Takes `logprobs`, a switch, and `top_logprobs`, the number of alternatives for each token: a number alone asks for
/// both.
void take_logprobs(FieldReader& reader, const ApiField& field);
void take_top_logprobs(FieldReader& reader, const ApiField& field);

constexpr ApiField logprobs() {
  return boolean("logprobs", "false", "log-probabilities of the answer's tokens", take_logprobs);
}
constexpr ApiField top_logprobs(void (*take)(FieldReader&, const ApiField&) = take_top_logprobs) {
  return integer("top_logprobs", 0, kMaxTopLogprobs, "0",
                 "alternatives beside each token; above 0 they ask for log-probabilities as well", take);
}
constexpr ApiField tokens_as_ids() {
  return boolean(
      "return_tokens_as_token_ids", "false",
      "log-probabilities have `token_id:123` in the place of a token's text, as in vLLM, so that tokens that "
      "read alike are told apart",
      into<&ApiRequest::form, &AnswerForm::names_tokens_by_id>);
}
constexpr ApiField budget(std::string_view path, std::string_view text, double min = -1) {
  return integer(path, min, std::numeric_limits<int>::max(), "the server's", text, take_budget);
}

}  // namespace field

/// The name of the model.
extern const FieldTable kModelFields;
/// Fields that completions and chats share: streaming, ids of tokens, the salt of the cache.
extern const FieldTable kStreamFields;
/// Fields of chats: reasoning, how it is shown, and how much of it there may be.
extern const FieldTable kReasoningFields;
/// Fields of OpenAI's API that change no answer.
extern const FieldTable kHintFields;
/// Fields of OpenAI, vLLM or llama.cpp that ask for what Octavo does not have.
extern const FieldTable kUnsupportedFields;

}  // namespace octavo
