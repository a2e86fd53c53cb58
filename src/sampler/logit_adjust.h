// Penalties, biases and bans: the changes of SamplingParams in a row of logits before it is cut.
//
// They depend on the row, the parameters and the sequence's own tokens alone, so that other sequences do not change an
// answer. Each thread has a LogitAdjuster; calls of different adjusters may run at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/sampling.h"
#include "sampler/dry.h"

namespace octavo {

/// The sequence that a token is drawn for.
struct DrawContext {
  std::span<const TokenId> tokens = {};        // the prompt, then the answer so far
  int prompt_tokens = 0;                       // the number of the prompt's tokens
  std::span<const TokenId> forbidden = {};     // tokens that are not drawn, whatever their logits
  std::span<const TokenId> suppressed = {};    // tokens that the model's file never wants drawn
  std::span<const TokenId> dry_breakers = {};  // ascending: tokens that contain one of Dry::breakers
  TokenId forced = -1;                         // the token that is drawn, whatever the row says; -1: none
  /// A mask with a bit for each token, the lowest first: a token whose bit is 0 or missing is never drawn, even where
  /// all others are forbidden. At least one token of the row has its bit. Empty: all are allowed.
  std::span<const std::uint32_t> allowed = {};
  bool wants_logprob = true;         // otherwise the row is not weighed for it
  bool logprobs_of_allowed = false;  // log-probabilities are those among the allowed tokens, if the token is one
  float surprise_bound = 0;          // Mirostat's bound in bits: first_surprise_bound(), then SampledToken's
};

/// A bias of this or less forbids its token, as clients of OpenAI's interface mean it. Adding -100 alone would let a
/// token through whose logit is 100 above the others.
inline constexpr float kForbiddingBias = -100;

inline bool is_allowed(std::span<const std::uint32_t> allowed, TokenId token) {
  const auto bit = static_cast<std::uint32_t>(token);
  return allowed.empty() || (bit / 32 < allowed.size() && (allowed[bit / 32] >> bit % 32 & 1) != 0);
}

class LogitAdjuster {
 public:
  /// An adjuster for rows of up to `vocab_size` logits. Nothing is allocated after construction, except by the longest
  /// sequence yet with DRY.
  explicit LogitAdjuster(int vocab_size, Math math = Math());

  /// Whether the row changes at all; false: it is drawn from as it is.
  static bool changes(const SamplingParams& params, const DrawContext& context);

  /// A copy of `logits` with, in this order: repetition_penalty, frequency_penalty, presence_penalty, DRY, logit_bias,
  /// and the lowest float for forbidden tokens, ends of bad words, and all but the allowed tokens, those of the
  /// parameters and of the context. Where that leaves nothing, the logits of the context's allowed ones stand as they
  /// came. Ids beyond the row are ignored. Valid until the next call.
  std::span<const float> adjust(std::span<const float> logits, const SamplingParams& params,
                                const DrawContext& context);

 private:
  static void keep_allowed(std::span<float> row, std::span<const float> logits, std::span<const std::uint32_t> allowed);
  void penalize(std::span<float> row, const SamplingParams& params, const DrawContext& context);

  std::vector<float> row_;             // [vocab_size]
  std::vector<std::uint32_t> counts_;  // [vocab_size] how often the answer has each token; all 0 between calls
  DryPenalty dry_;
};

}  // namespace octavo
