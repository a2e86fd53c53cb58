// The size that the answer to a call will have in memory, bounded so that one call cannot take all there is.
//
// An answer that is not streamed is held until its last token, and log-probabilities make it many times its text. The
// size is foreseen from the client's wishes, and watched while the answer is made: the foreseen size is an average, and
// a client that sets no limit of tokens may get anything up to the end of the context. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/call/api_error.h"
#include "api/call/completion.h"

namespace octavo {

struct EchoedPrompt {
  std::uint64_t num_tokens = 0;
  std::uint64_t num_bytes = 0;  // the prompt's text as a JSON string, where it is echoed
};

/// The bytes that an answer will take: exact for what is echoed, an average for what is generated. The sums fit 64
/// bits, as each factor is bounded by a body's size, the context or kMaxChoices.
class AnswerSize {
 public:
  explicit AnswerSize(const CompletionCall& call) : call_(call) {}

  /// Adds one prompt and its answers. `max_tokens`: the client's limit; 0: it set none.
  void add(const EchoedPrompt& prompt, std::uint64_t max_tokens);
  std::uint64_t bytes() const { return bytes_; }

 private:
  const CompletionCall& call_;
  std::uint64_t bytes_ = 0;
};

/// Refuses an answer larger than `limit` before work begins. `advice`: what to ask for instead.
std::optional<ApiError> check_answer_size(const AnswerSize& size, std::uint64_t limit);
std::optional<ApiError> check_answer_size(std::uint64_t bytes, std::uint64_t limit, std::string_view advice);
/// The error (400) of an answer that has grown beyond `limit` bytes.
ApiError answer_too_large(std::uint64_t bytes, std::uint64_t limit);

}  // namespace octavo
