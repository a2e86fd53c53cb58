// The bound of memory that the answer to a call takes while it is made, so that one call cannot take all there is.
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
  std::uint64_t num_bytes = 0;  // of its text as a JSON string, where it is echoed
};

/// Bytes that an answer will take: of what is echoed exactly, of what is made on average. Sums that do not fit 64 bits
/// cannot come up: each factor is bounded by a body's size, the context or kMaxChoices.
class AnswerSize {
 public:
  explicit AnswerSize(const CompletionCall& call) : call_(call) {}

  /// One prompt and what is made of it. `max_tokens` is the client's limit; 0: it set none.
  void add(const EchoedPrompt& prompt, std::uint64_t max_tokens);
  std::uint64_t bytes() const { return bytes_; }

 private:
  const CompletionCall& call_;
  std::uint64_t bytes_ = 0;
};

/// Refuses what is larger than `limit` before work begins. `advice`: what to ask for instead.
std::optional<ApiError> check_answer_size(const AnswerSize& size, std::uint64_t limit);
std::optional<ApiError> check_answer_size(std::uint64_t bytes, std::uint64_t limit, std::string_view advice);
/// The 400 of an answer that has grown beyond `limit`.
ApiError answer_too_large(std::uint64_t bytes, std::uint64_t limit);

}  // namespace octavo
