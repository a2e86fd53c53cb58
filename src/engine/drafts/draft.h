// Tokens that may follow a sequence, as a drafter guesses them (drafter.h).
//
// Part of a Sequence. The scheduler decides how many of them have rows in a step; they are no tokens of the sequence
// until they were drawn.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "base/to_size.h"
#include "octavo/draft.h"
#include "octavo/kv/types.h"

namespace octavo {

/// The row of logits that a sequence's last token was drawn from, whose hidden row an assistant begins with.
struct HiddenRow {
  std::uint64_t batch = 0;  // StepPlan::num_batches; the runner has those of the last one
  int row = 0;              // among the batch's logit rows
};

struct Draft {
  std::array<TokenId, kMaxDraftTokens> tokens = {};  // the first one follows the sequence's last token
  std::array<float, kMaxDraftTokens> chances = {};   // that a token and all before it are drawn; none is above its
                                                     // predecessor's
  int num_tokens = 0;
  int num_wanted = 0;  // tokens that the model's draft head is to guess before the next step, as they may be likelier

  HiddenRow hidden = {};  // in front of the last token

  void clear() { num_tokens = num_wanted = 0; }
  /// Tokens that are expected to be drawn.
  float num_expected() const { return std::accumulate(chances.begin(), chances.begin() + num_tokens, 0.0F); }
  void add(TokenId token, float chance) {
    tokens[to_size(num_tokens)] = token;
    chances[to_size(num_tokens)] = chance;
    ++num_tokens;
  }
};

}  // namespace octavo
