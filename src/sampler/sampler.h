// Draws the next token from a row of logits: the changes of logit_adjust.h, then the steps of SamplingParams in their
// order over the candidates (candidates.h), then a draw.
//
// A draw depends on the row, the parameters, the sequence's tokens and its key alone: earlier draws, other sequences
// and the thread do not matter. Mirostat's bound is the one value that a draw hands to the next of its sequence. Each
// thread has a scratch; calls with different scratches may run at once.
#pragma once

#include <span>

#include "base/error.h"
#include "octavo/request.h"
#include "sampler/candidates.h"
#include "sampler/logit_adjust.h"
#include "sampler/philox.h"

namespace octavo {

inline constexpr std::size_t kMaxDryBreakers = 16;
inline constexpr std::size_t kMaxDryBreakerBytes = 40;

/// Errors name the field, the value and the allowed values.
Result<void> check_sampling_params(const SamplingParams& params);

/// The memory of one sampling thread, for rows of up to `vocab_size` logits. Nothing is allocated after construction,
/// except by DRY for a longer sequence than before.
struct SamplerScratch {
  explicit SamplerScratch(int vocab_size, Math given = Math())
      : candidates(vocab_size, given), adjuster(vocab_size, given), math(given) {}

  CandidateScratch candidates;
  LogitAdjuster adjuster;
  Math math;
};

struct SampledToken {
  TokenId token;
  float logprob;             // the log-softmax of the row at the token: before any cut, at temperature 1; or NaN
  float surprise_bound = 0;  // Mirostat's bound for the next token of the sequence
};

/// The bound for the first token of a sequence, in bits.
inline float first_surprise_bound(const Mirostat& mirostat) { return 2 * mirostat.tau; }

/// Draws one of the first `num_tokens` entries of `logits`, 1 <= num_tokens <= logits.size() <= the scratch's size. A
/// model may pad its vocabulary beyond the tokenizer's; the padding is never drawn. `params` have passed
/// check_sampling_params(). Among equal logits the lowest id counts as the most likely. NaN and infinite logits are
/// taken as finite_logit() says. A forbidden token is drawn only where no other is left; one that the context does not
/// allow is never drawn; a forced one, of the first num_tokens, always is, and leaves Mirostat's bound as it is. `top`,
/// of at most num_tokens entries, is filled with the likeliest tokens of the unchanged row; with logprobs_of_allowed,
/// with the likeliest allowed ones, then with entries of token -1. Where the context wants no log-probability it is
/// NaN, and `top` is empty.
SampledToken sample(std::span<const float> logits, int num_tokens, const SamplingParams& params, const DrawKey& key,
                    SamplerScratch& scratch, const DrawContext& context = {}, std::span<TokenLogprob> top = {});

}  // namespace octavo
