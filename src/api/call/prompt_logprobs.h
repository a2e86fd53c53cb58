// Log-probabilities of a prompt's own tokens, reduced from logits as they are computed.
//
// A row of logits is as long as the vocabulary. What is kept of it is the next token's log-probability and the
// likeliest alternatives, so that a prompt of any length costs a few words per token. The request and the answer share
// it: the request's callback fills it on the engine's thread, and the answer reads it after the request's first event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/math.h"
#include "base/to_size.h"
#include "octavo/request.h"

namespace octavo {

class PromptLogprobs {
 public:
  /// `pictures`: those in the prompt. `num_tokens`: the number of ids that have a text; logits beyond it are padding.
  /// `num_top`: how many alternatives are kept, perhaps 0.
  PromptLogprobs(std::vector<TokenId> tokens, std::span<const PromptPicture> pictures, int num_tokens, int num_top,
                 Math math = Math());

  /// Adds rows as Request::on_prompt_logits gives them: float32 [num_rows, vocab_size] for the prompt's positions from
  /// `first_position` on.
  void add_rows(int first_position, int vocab_size, std::span<const float> logits);

  /// Whether the token at `position` has a log-probability, a rank and alternatives. The first token has none, as
  /// nothing precedes it, and so has the placeholder of a picture.
  bool has(std::size_t position) const { return ranks_[position] > 0; }
  float logprob(std::size_t position) const { return logprobs_[position]; }
  /// The rank among all tokens, from 1; of equally likely ones the lower id goes first.
  int rank(std::size_t position) const { return ranks_[position]; }
  /// At most `most` tokens, the likeliest first; of equally likely ones the lower id first.
  std::span<const TokenLogprob> top(std::size_t position, int most) const {
    return std::span(top_).subspan(position * num_top_, std::min(to_size(most), num_top_));
  }

 private:
  static constexpr TokenId kNoText = -1;

  void add_row(std::size_t position, std::span<const float> row);

  Math math_;
  std::vector<TokenId> tokens_;  // kNoText for a picture's placeholder
  std::size_t num_tokens_;
  std::size_t num_top_;
  std::vector<float> logprobs_;    // [prompt length]
  std::vector<int> ranks_;         // [prompt length]; 0: no rank
  std::vector<TokenLogprob> top_;  // [prompt length, num_top]
};

/// The natural logarithm of the sum of e^logit; NaN and -inf count as the smallest float, +inf as the largest.
double log_sum_exp(std::span<const float> logits, Math math = Math());

}  // namespace octavo
