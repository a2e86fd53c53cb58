// Draws the next token from a row of logits: greedy, or top-k, top-p, min-p and temperature, in this order, after what
// logit_adjust.h does to the row.
//
// The order is llama.cpp's: the cuts look at the probabilities of temperature 1 (after top_k, renormalized over its
// survivors), temperature comes last. A draw depends on the row, the parameters, the sequence's tokens and its key
// only, so it is the same whatever was drawn before, beside it, or on which thread. One scratch per thread; calls with
// different scratches may run at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "octavo/engine.h"
#include "sampler/logit_adjust.h"
#include "sampler/philox.h"

namespace octavo {

/// Errors name the field, what was found and what is allowed.
Result<void> check_sampling_params(const SamplingParams& params);

/// Memory of one sampling thread, for rows of up to `vocab_size` logits; nothing is allocated after construction.
class SamplerScratch {
 public:
  explicit SamplerScratch(int vocab_size);

 private:
  friend class RowSampler;
  struct Candidate {
    float logit;
    TokenId id;
  };
  std::vector<float> weights;       // [vocab_size] softmax numerators at temperature 1
  std::vector<float> kept_weights;  // [vocab_size] the survivors' at the temperature asked for
  std::vector<TokenId> kept_ids;    // [vocab_size]
  std::vector<Candidate> boundary;  // [vocab_size] room for the one histogram bucket that is sorted
  std::vector<double> histogram;    // [num buckets]
  std::vector<double> chunk_sums;   // [vocab_size / kSumChunk, rounded up]
  LogitAdjuster adjuster;
};

struct SampledToken {
  TokenId token;
  float logprob;  // log-softmax of the untouched row at the token: before any cut, at temperature 1
};

/// Draws one of the first `num_tokens` entries of `logits`, 1 <= num_tokens <= logits.size() <= the scratch's size. A
/// model may pad its vocabulary beyond the tokenizer's; the padding is never drawn. `params` have passed
/// check_sampling_params(). Among equal logits the lowest id counts as the most likely. NaN and infinite logits are
/// taken as finite_logit() says. A forbidden token is drawn only where no other is left. `top`, of at most num_tokens
/// entries, is filled with the likeliest tokens of the untouched row.
SampledToken sample(std::span<const float> logits, int num_tokens, const SamplingParams& params, const DrawKey& key,
                    SamplerScratch& scratch, const DrawContext& context = {}, std::span<TokenLogprob> top = {});

}  // namespace octavo
