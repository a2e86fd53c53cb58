#include "api/call/answer_size.h"

#include <fmt/format.h>

namespace octavo {
namespace {

// Means of SmolLM2's English at temperature 1, rounded up (measured 4.1; 86 and 67; 47 and 18): a token's text, its
// JSON beside log-probabilities, and the JSON of each alternative.
constexpr std::uint64_t kTextBytes = 5;
constexpr std::uint64_t kChatTokenBytes = 90, kChatAlternativeBytes = 70;
constexpr std::uint64_t kCompletionTokenBytes = 50, kCompletionAlternativeBytes = 20;

// The bytes of `token_id:12345` in place of a text.
constexpr std::uint64_t kIdNameBytes = 10;

// The bytes of `"12345":{"logprob":-12.345678,"rank":12345,"decoded_token":" text"},` and the braces around several.
constexpr std::uint64_t kPromptLogprobBytes = 75;

constexpr std::uint64_t kIdBytes = 7;  // the bytes of six digits and a comma

// How often an echoed prompt is spelled where it has log-probabilities: once as the text, once in the list of tokens,
// and once in the keys of alternatives.
constexpr std::uint64_t kSpellings = 3;

/// The bytes that log-probabilities take beside a token's text.
std::uint64_t logprob_bytes(const CompletionCall& call) {
  if (call.num_logprobs < 0) return 0;
  const auto num_alternatives = static_cast<std::uint64_t>(call.num_logprobs);
  const std::uint64_t name = call.names_tokens_by_id ? kIdNameBytes : 0;
  return call.is_chat ? kChatTokenBytes + name + num_alternatives * (kChatAlternativeBytes + name)
                      : kCompletionTokenBytes + 2 * name + num_alternatives * (kCompletionAlternativeBytes + name);
}

constexpr std::string_view kAdvice =
    "ask for fewer choices, tokens or alternatives beside each token, for fewer prompts in a call, or for a stream";
constexpr std::string_view kAdviceForAny = "ask for less in one call, or where tokens are generated for a stream";

ApiError too_large(std::string message) {
  return {.status = 400, .message = std::move(message), .code = "answer_too_large"};
}

}  // namespace

void AnswerSize::add(const EchoedPrompt& prompt, std::uint64_t max_tokens) {
  const std::uint64_t num_made = call_.stream ? 0 : max_tokens;
  std::uint64_t of_choice = num_made * (kTextBytes + logprob_bytes(call_));
  if (call_.echo)
    of_choice +=
        prompt.num_bytes * (call_.num_logprobs < 0 ? 1 : kSpellings) + prompt.num_tokens * logprob_bytes(call_);
  if (call_.return_token_ids && !call_.stream) of_choice += (prompt.num_tokens + num_made) * kIdBytes;
  if (call_.num_prompt_logprobs >= 0)
    of_choice += prompt.num_tokens * (static_cast<std::uint64_t>(call_.num_prompt_logprobs) + 1) * kPromptLogprobBytes;
  bytes_ += of_choice * static_cast<std::uint64_t>(call_.n);
}

std::optional<ApiError> check_answer_size(const AnswerSize& size, std::uint64_t limit) {
  return check_answer_size(size.bytes(), limit, kAdvice);
}

std::optional<ApiError> check_answer_size(std::uint64_t bytes, std::uint64_t limit, std::string_view advice) {
  if (bytes <= limit) return std::nullopt;
  return too_large(fmt::format("the answer may take about {} bytes, and this server holds at most {} of one: {}", bytes,
                               limit, advice));
}

ApiError answer_too_large(std::uint64_t bytes, std::uint64_t limit) {
  return too_large(fmt::format("the answer has reached {} bytes, and this server holds at most {} of one: {}", bytes,
                               limit, kAdviceForAny));
}

}  // namespace octavo
