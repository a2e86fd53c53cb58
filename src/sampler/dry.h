// DRY: penalties for tokens that would continue a repetition (p-e-w, "DRY: A modern repetition penalty", 2024).
//
// One pass goes over the sequence's last tokens, in time linear in their number (the Z-algorithm from the end). Each
// sampling thread has one.
#pragma once

#include <span>
#include <vector>

#include "base/math.h"
#include "octavo/sampling.h"

namespace octavo {

class DryPenalty {
 public:
  explicit DryPenalty(Math math = Math()) : math_(math) {}

  /// Lowers the logits of tokens that would continue a repetition, by the longest repetition of each. `tokens` is the
  /// sequence so far; `breakers` are ascending ids. Tokens beyond the row are ignored.
  void apply(std::span<float> row, const Dry& dry, std::span<const TokenId> tokens, std::span<const TokenId> breakers);

 private:
  void match_suffixes(std::span<const TokenId> tokens);

  Math math_;
  std::vector<int> matched_;  // [tokens] how many tokens up to here are also the last tokens of the sequence
  std::vector<int> longest_;  // [row] scratch: the longest repetition that a token would continue; 0 between calls
};

}  // namespace octavo
