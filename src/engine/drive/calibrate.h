// The cost of steps on this machine, before the first request: a few are timed on made-up tokens.
#pragma once

#include <stop_token>

#include "engine/drive/step.h"

namespace octavo {

/// Times steps of sequences of at most `max_context` tokens, and tells the cost model of them. Nothing of them stays
/// but touched memory. The engine has no request. No step is begun once a stop is asked for.
void calibrate(const StepParts& parts, int max_context, const std::stop_token& stop);

}  // namespace octavo
