// The parameters by which the next token is drawn from a row of logits: changes of the row, cuts of its tokens, and the
// temperature of the draw.
//
// The order is llama.cpp's, unless `order` names another one: changes of logits (penalties, DRY, biases and bans), then
// the steps of kDefaultSamplerOrder. Each cut looks at the probabilities of the tokens that earlier cuts have left.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "octavo/token.h"

namespace octavo {

/// A step that removes tokens from those that may be drawn, or changes their probabilities.
enum class SamplerStep : std::uint8_t { kTopNSigma, kTopK, kTypical, kTopP, kMinP, kXtc, kTemperature };
inline constexpr std::array kDefaultSamplerOrder = {SamplerStep::kTopNSigma,  SamplerStep::kTopK, SamplerStep::kTypical,
                                                    SamplerStep::kTopP,       SamplerStep::kMinP, SamplerStep::kXtc,
                                                    SamplerStep::kTemperature};

/// A temperature between temperature - range and temperature + range, which is higher where the row is less certain:
/// its place in the range is the row's entropy, divided by that of a uniform distribution over the tokens that are
/// left, to the power of `exponent`.
struct DynamicTemperature {
  float range = 0;  // 0: the temperature does not change
  float exponent = 1;
};

/// "Exclude top choices" (XTC): where at least two tokens have a probability of at least `threshold`, then, with this
/// probability, only the least likely of them and all less likely tokens stay.
struct Xtc {
  float probability = 0;  // 0: never
  float threshold = 0.1F;
};

/// "Don't repeat yourself" (DRY): the logit of a token that would continue a repetition of n tokens, n at least
/// allowed_length, is lowered by multiplier * base^(n - allowed_length). Repetitions do not reach across a breaker, and
/// a breaker itself is not lowered.
struct Dry {
  float multiplier = 0;  // 0: off
  float base = 1.75F;    // at least 1
  int allowed_length = 2;
  int window = 0;                                              // the number of last tokens to look at; 0: all
  std::vector<std::string> breakers = {"\n", ":", "\"", "*"};  // a token that contains one of these is a breaker
};

/// Mirostat (Basu et al. 2021), in place of all cuts. A bound of surprise follows the draws, so that the mean surprise
/// approaches `tau` bits. Version 2 drops tokens whose surprise is above the bound; version 1 keeps as many of the most
/// likely tokens as Zipf's law, fitted to the first of them, needs to reach this surprise.
struct Mirostat {
  int version = 0;  // 0: off
  float tau = 5;
  float eta = 0.1F;  // the share by which the bound follows a draw
};

struct SamplingParams {
  float temperature = 1.0F;  // 0: always the most likely token that penalties and bans leave
  int top_k = 0;             // keeps the k most likely tokens; 0: all
  float top_p = 1.0F;        // keeps the fewest tokens whose probabilities sum to at least this
  float min_p = 0.0F;        // drops tokens less likely than this share of the most likely one
  std::uint64_t seed = 0;    // draws are keyed by (seed, choice index, position, draw): same seed, same tokens
  /// Changes before all cuts, in this order: repetition_penalty divides the positive logits of tokens in the prompt and
  /// the answer, and multiplies the negative ones; frequency_penalty is subtracted once for each time that a token is
  /// in the answer, presence_penalty once if it is there at all; then DRY; then logit_bias is added, and a bias of -100
  /// forbids its token as long as any other is left.
  float repetition_penalty = 1.0F;                         // above 0; 1: no penalty
  float frequency_penalty = 0.0F;                          // -2 to 2
  float presence_penalty = 0.0F;                           // -2 to 2
  std::vector<std::pair<TokenId, float>> logit_bias = {};  // each from -100 to 100
  int penalty_window = 0;                                  // the number of last tokens that penalties look at; 0: all
  std::vector<TokenId> allowed_tokens = {};                // the only tokens that may be drawn; empty: all may
  std::vector<std::vector<TokenId>> bad_words = {};        // sequences of tokens that the answer never completes: the
                                                           // last token of each is forbidden behind the others
  float top_n_sigma = 0;                                   // keep tokens whose logits lie within this many standard
                                                           // deviations of the largest; 0: all
  float typical_p = 1;  // locally typical sampling (Meister et al. 2023): keep the fewest tokens whose surprise is
                        // nearest to the entropy and whose probabilities sum to at least this
  DynamicTemperature dynamic_temperature = {};
  Xtc xtc = {};
  Dry dry = {};
  Mirostat mirostat = {};
  std::vector<SamplerStep> order = {};  // each step at most once; unnamed steps are left out; empty: the default
};

}  // namespace octavo
