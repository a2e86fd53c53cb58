// Tokens that may follow a sequence, as a drafter guesses them (drafter.h).
//
// Part of a Sequence. The scheduler decides how many of them have rows in a step; they are no tokens of the sequence
// until they were drawn.
#pragma once

#include <array>
#include <numeric>

#include "base/to_size.h"
#include "octavo/draft.h"
#include "octavo/kv/types.h"

namespace octavo {

struct Draft {
  std::array<TokenId, kMaxDraftTokens> tokens = {};  // the first one follows the sequence's last token
  std::array<float, kMaxDraftTokens> chances = {};   // that a token and all before it are drawn; none is above its
                                                     // predecessor's
  int num_tokens = 0;
  int num_wanted = 0;  // tokens that the model's draft head is to guess before the next step, as they may be likelier

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
