// Learns the cost of steps on this machine before the first request: it times a few on made-up tokens.
#pragma once

#include <stop_token>

#include "engine/drive/step.h"

namespace octavo {

/// Times steps of sequences of at most `max_context` tokens for the cost model. They leave nothing but touched memory.
/// The engine must have no request. No step begins once a stop is asked for.
void calibrate(const StepParts& parts, int max_context, const std::stop_token& stop);

}  // namespace octavo
