// Penalties, biases and bans: what SamplingParams and the sequence so far change in a row of logits before it is cut.
//
// A function of the row, the parameters and the sequence's own tokens, so that an answer does not depend on what runs
// beside it. One LogitAdjuster per thread; calls of different adjusters may run at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/engine.h"

namespace octavo {

/// The sequence that a token is drawn for.
struct DrawContext {
  std::span<const TokenId> tokens = {};     // the prompt, then the answer so far
  int prompt_tokens = 0;                    // how many of them are the prompt
  std::span<const TokenId> forbidden = {};  // not drawn, whatever their logits
};

/// A bias of this or less forbids its token: clients of OpenAI's interface mean it so. Adding -100 alone would let a
/// token through whose logit is 100 above the others.
inline constexpr float kForbiddingBias = -100;

class LogitAdjuster {
 public:
  /// For rows of up to `vocab_size` logits; nothing is allocated after construction.
  explicit LogitAdjuster(int vocab_size);

  /// False: the row is to be drawn from as it is.
  static bool changes(const SamplingParams& params, const DrawContext& context);

  /// A copy of `logits` with, in this order: repetition_penalty, frequency_penalty, presence_penalty, logit_bias and
  /// forbidden tokens, which get the lowest float. Ids beyond the row are ignored. Valid until the next call.
  std::span<const float> adjust(std::span<const float> logits, const SamplingParams& params,
                                const DrawContext& context);

 private:
  void penalize(std::span<float> row, const SamplingParams& params, const DrawContext& context);

  std::vector<float> row_;             // [vocab_size]
  std::vector<std::uint32_t> counts_;  // [vocab_size] of the answer's tokens; all 0 between calls
};

}  // namespace octavo
