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

/// One change of the tokens that are left, or of their probabilities.
enum class SamplerStep : std::uint8_t { kTopNSigma, kTopK, kTypical, kTopP, kMinP, kXtc, kTemperature };
inline constexpr std::array kDefaultSamplerOrder = {SamplerStep::kTopNSigma,  SamplerStep::kTopK, SamplerStep::kTypical,
                                                    SamplerStep::kTopP,       SamplerStep::kMinP, SamplerStep::kXtc,
                                                    SamplerStep::kTemperature};

/// A temperature between temperature - range and temperature + range, which is higher where the row is less certain:
/// the place between them is the row's entropy, divided by that of a uniform distribution over the tokens that are
/// left, to the power of `exponent`.
struct DynamicTemperature {
  float range = 0;  // 0: the temperature does not change
  float exponent = 1;
};

/// "Exclude top choices": where two tokens or more have at least `threshold`, the least likely of these tokens and all
/// less likely ones stay, with this probability.
struct Xtc {
  float probability = 0;  // 0: never
  float threshold = 0.1F;
};

/// "Don't repeat yourself": a token that would continue a repetition of n tokens, n at least allowed_length, loses
/// multiplier * base^(n - allowed_length) of its logit. Repetitions do not reach across a breaker, and a breaker itself
/// loses nothing.
struct Dry {
  float multiplier = 0;  // 0: off
  float base = 1.75F;    // at least 1
  int allowed_length = 2;
  int window = 0;                                              // number of last tokens to look at; 0: all
  std::vector<std::string> breakers = {"\n", ":", "\"", "*"};  // a token that contains one of these is a breaker
};

/// Mirostat (Basu et al. 2021), in place of all cuts. A bound of surprise follows the draws, so that the mean surprise
/// comes to `tau` bits. Version 2 drops tokens whose surprise is above the bound; version 1 keeps so many of the most
/// likely tokens that Zipf's law, fitted to the first of them, gives the last one this surprise.
struct Mirostat {
  int version = 0;  // 0: off
  float tau = 5;
  float eta = 0.1F;  // the share by which the bound follows a draw
};

struct SamplingParams {
  float temperature = 1.0F;  // 0: always the most likely token that penalties and bans leave
  int top_k = 0;             // keep the k most likely; 0: all
  float top_p = 1.0F;        // keep the fewest tokens whose probabilities sum to at least this
  float min_p = 0.0F;        // drop tokens less likely than this share of the most likely one
  std::uint64_t seed = 0;    // draws are keyed by (seed, choice index, position, draw): same seed, same tokens
  /// Changes before all cuts, in this order: repetition_penalty divides the positive logits of tokens in the prompt and
  /// the answer, and multiplies the negative ones; frequency_penalty is subtracted once for each time that a token is
  /// in the answer, presence_penalty once if it is there; then DRY; logit_bias is added, and a bias of -100 forbids its
  /// token as long as any other is left.
  float repetition_penalty = 1.0F;                         // above 0; 1: none
  float frequency_penalty = 0.0F;                          // -2 to 2
  float presence_penalty = 0.0F;                           // -2 to 2
  std::vector<std::pair<TokenId, float>> logit_bias = {};  // each -100 to 100
  int penalty_window = 0;                                  // number of last tokens that penalties look at; 0: all
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
  std::vector<SamplerStep> order = {};  // each at most once; a step that is not named is left out; empty: the default
};

}  // namespace octavo
