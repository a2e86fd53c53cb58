// The likeliest tokens of a row, in order.
//
// Stateless; any thread may call it.
#pragma once

#include <span>

#include "octavo/request.h"

namespace octavo {

/// Fills `top` with the top.size() <= logits.size() tokens of the highest logits, the highest first, among equal ones
/// the lowest id first. Each `logprob` is its logit less `log_total`, the log of the sum of exp(logit) over the row.
/// NaN and infinite logits count as finite_logit() says. One pass over the row; meant for a few dozen tokens.
void find_top_tokens(std::span<const float> logits, double log_total, std::span<TokenLogprob> top);

}  // namespace octavo
