// generation_config.json, which models on the hub have beside their weights: how their makers want tokens to be drawn.
//
// Read once at load. These fields count: temperature, top_k, top_p, min_p, typical_p, repetition_penalty, eos_token_id,
// suppress_tokens, bad_words_ids; the others are about the program that wrote the file. Free functions.
#pragma once

#include <string_view>

#include "base/error.h"
#include "engine/text/sampling_defaults.h"

namespace octavo {

inline constexpr std::size_t kMaxGenerationConfigBytes = std::size_t{128} << 10;

/// Absent fields and null are not set. Errors name the field, what was found and what is allowed, or where the JSON is
/// wrong. `num_tokens`: the number of ids that the model has; 0: not known.
Result<SamplingDefaults> parse_generation_config(std::string_view json, int num_tokens);

}  // namespace octavo
