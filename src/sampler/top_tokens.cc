#include "sampler/top_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "sampler/softmax.h"

namespace octavo {
namespace {

constexpr std::size_t kPiece = 256;  // the logits of a piece, whose maximum says whether to look at them

// Inserts into `sorted`, whose last entry it pushes out, after equal ones, which have lower ids.
void insert(std::span<TokenLogprob> sorted, TokenLogprob entry) {
  std::size_t at = sorted.size() - 1;
  for (; at > 0 && sorted[at - 1].logprob < entry.logprob; --at) sorted[at] = sorted[at - 1];
  sorted[at] = entry;
}

}  // namespace

void find_top_tokens(std::span<const float> logits, double log_total, std::span<TokenLogprob> top) {
  OCTAVO_CHECK(top.size() <= logits.size(), "{} of {} tokens", top.size(), logits.size());
  if (top.empty()) return;
  std::size_t found = 0;
  for (; found < top.size(); ++found) {
    insert(top.first(found + 1), {.token = static_cast<TokenId>(found), .logprob = finite_logit(logits[found])});
  }
  for (std::size_t begin = found; begin < logits.size(); begin += kPiece) {
    const std::span<const float> piece = logits.subspan(begin, std::min(kPiece, logits.size() - begin));
    if (!(max_logit(piece) > top.back().logprob)) continue;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const float logit = finite_logit(piece[i]);
      if (logit > top.back().logprob) insert(top, {.token = static_cast<TokenId>(begin + i), .logprob = logit});
    }
  }
  for (TokenLogprob& entry : top) entry.logprob = static_cast<float>(entry.logprob - log_total);
}

}  // namespace octavo
