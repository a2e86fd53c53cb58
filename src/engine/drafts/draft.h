// Tokens that may follow a sequence, as its drafter guesses them (drafter.h).
//
// Part of a Sequence. The scheduler decides how many of them have rows in a step; they are no tokens of the sequence
// until they are drawn.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "base/to_size.h"
#include "octavo/draft.h"
#include "octavo/kv/types.h"

namespace octavo {

/// The row of logits from which a sequence's last token was drawn. An assistant begins with its hidden row.
struct HiddenRow {
  std::uint64_t batch = 0;  // StepPlan::num_batches; the runner has the rows of the last batch alone
  int row = 0;              // an index of the batch's rows of logits
};

struct Draft {
  std::array<TokenId, kMaxDraftTokens> tokens = {};  // the first one follows the sequence's last token
  std::array<float, kMaxDraftTokens> chances = {};   // [i]: that tokens 0 to i are all drawn; none is above its
                                                     // predecessor's
  int num_tokens = 0;
  int num_wanted = 0;  // how many tokens the draft head is to guess before the next step, as they may be likelier

  HiddenRow hidden = {};  // the hidden row of the position before the last token

  void clear() { num_tokens = num_wanted = 0; }
  /// How many tokens are expected to be drawn.
  float num_expected() const { return std::accumulate(chances.begin(), chances.begin() + num_tokens, 0.0F); }
  void add(TokenId token, float chance) {
    tokens[to_size(num_tokens)] = token;
    chances[to_size(num_tokens)] = chance;
    ++num_tokens;
  }
};

}  // namespace octavo
