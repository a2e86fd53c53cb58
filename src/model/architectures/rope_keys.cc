#include "model/architectures/rope_keys.h"

#include <algorithm>

#include <cmath>

#include "base/text.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

/// A factor of 0 is none, as llama.cpp writes and reads it.
Result<double> read_factor(const ModelKeys& keys, std::string_view suffix) {
  if (!keys.has(suffix)) return 1.0;
  OCTAVO_TRY(const double factor, keys.not_negative(suffix));
  return factor == 0 ? 1.0 : factor;
}

/// The growth of scores that goes with a longer context: 0.1 weight ln(factor) + 1 (Peng et al., 2023, section 3.4).
double temperature(Math math, double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * math.log(factor) + 1;
}

/// Cosines and sines are multiplied by it. The key yarn_attn_factor gives it outright; yarn_log_multiplier divides it
/// by the part that a model's scale of scores has already.
Result<double> read_yarn_magnitude(const ModelKeys& keys, double factor) {
  if (keys.has("rope.scaling.yarn_attn_factor")) {
    OCTAVO_TRY(const double given, keys.not_negative("rope.scaling.yarn_attn_factor"));
    if (given > 0) return given;
  }
  double divisor = 1;
  if (keys.has("rope.scaling.yarn_log_multiplier")) {
    OCTAVO_TRY(const double multiplier, keys.not_negative("rope.scaling.yarn_log_multiplier"));
    divisor = temperature(keys.math(), factor, multiplier);
  }
  return temperature(keys.math(), factor, 1) / divisor;
}

Result<RopeScaling> read_yarn(const ModelKeys& keys, double base) {
  RopeScaling scaling;
  OCTAVO_TRY(scaling.divisor, read_factor(keys, "rope.scaling.factor"));
  YarnRamp ramp;
  const bool is_given = keys.has("rope.scaling.original_context_length");
  OCTAVO_TRY(ramp.original_context, keys.size(is_given ? "rope.scaling.original_context_length" : "context_length"));
  OCTAVO_TRY(ramp.fast_turns, keys.positive_or("rope.scaling.yarn_beta_fast", ramp.fast_turns));
  OCTAVO_TRY(ramp.slow_turns, keys.positive_or("rope.scaling.yarn_beta_slow", ramp.slow_turns));
  if (ramp.fast_turns < ramp.slow_turns)
    return fail("{}: {} is {}, expected at least {}, which is {}", keys.path(), keys.key("rope.scaling.yarn_beta_fast"),
                ramp.fast_turns, keys.key("rope.scaling.yarn_beta_slow"), ramp.slow_turns);
  if (base <= 1)
    return fail("{}: {} is {}, expected more than 1 where positions are scaled by yarn", keys.path(),
                keys.key("rope.freq_base"), base);
  if (keys.has("rope.scaling.yarn_ext_factor")) {
    OCTAVO_TRY(ramp.strength, keys.not_negative("rope.scaling.yarn_ext_factor"));
  }
  if (ramp.strength > 0) {
    scaling.yarn = ramp;
    OCTAVO_TRY(scaling.magnitude, read_yarn_magnitude(keys, scaling.divisor));
  }
  return scaling;
}

bool is_long_rope(const ModelKeys& keys) {
  const Result<std::string_view> type = keys.text("rope.scaling.type");
  return type && *type == "longrope";
}

/// A model whose context was stretched by LongRoPE (Ding et al., 2024) has two lists of divisors of frequencies, one
/// for contexts up to the original one and one for longer ones. The context that is served decides, once: by the length
/// of a sequence the keys of a shared prefix would change their meaning. Files have a type, or the lists alone.
Result<RopeFactors> read_factor_list(const ModelKeys& keys) {
  constexpr std::string_view kOriginal = "rope.scaling.original_context_length";
  if (!is_long_rope(keys) && keys.source().find_tensor(tensor_names::kShortRopeFactors) == nullptr)
    return RopeFactors::kOfAllContexts;
  OCTAVO_TRY(const int trained, keys.size("context_length"));
  OCTAVO_TRY(const int original, keys.size_or(kOriginal, trained));
  const int served = keys.served_context() > 0 ? keys.served_context() : trained;
  return served > original ? RopeFactors::kOfLongContexts : RopeFactors::kOfShortContexts;
}

/// Without a type a factor is linear. The key before it was scale_linear.
Result<RopeScaling> read_scaling(const ModelKeys& keys, double base) {
  if (!keys.has("rope.scaling.type")) {
    const bool is_new = keys.has("rope.scaling.factor");
    OCTAVO_TRY(const double divisor, read_factor(keys, is_new ? "rope.scaling.factor" : "rope.scale_linear"));
    return RopeScaling{.divisor = divisor};
  }
  OCTAVO_TRY(const std::string_view type, keys.text("rope.scaling.type"));
  if (type == "none") return RopeScaling{};
  if (type == "yarn") return read_yarn(keys, base);
  if (type != "linear" && !is_long_rope(keys))
    return fail("{}: {} is {}, supported are: none, linear, yarn, longrope", keys.path(), keys.key("rope.scaling.type"),
                quote(type));
  OCTAVO_TRY(const double divisor, read_factor(keys, "rope.scaling.factor"));
  return RopeScaling{.divisor = divisor};
}

}  // namespace

Result<int> read_num_rotated(const ModelKeys& keys, std::string_view suffix, int head_dim) {
  OCTAVO_TRY(const int num_rotated, keys.size_or(suffix, head_dim));
  if (num_rotated > head_dim || num_rotated % 2 != 0)
    return fail("{}: {} is {}, expected an even number up to the {} dimensions of a head", keys.path(),
                keys.key(suffix), num_rotated, head_dim);
  return num_rotated;
}

Result<RopeSpec> read_rope(const ModelKeys& keys, int head_dim, std::optional<double> default_base) {
  RopeSpec rope;
  OCTAVO_TRY(rope.num_rotated, read_num_rotated(keys, "rope.dimension_count", head_dim));
  if (keys.has("rope.freq_base") || !default_base) {
    OCTAVO_TRY(rope.base, keys.positive("rope.freq_base"));
  } else {
    rope.base = *default_base;
  }
  OCTAVO_TRY(rope.scaling, read_scaling(keys, rope.base));
  OCTAVO_TRY(rope.list, read_factor_list(keys));
  if (rope.list != RopeFactors::kOfAllContexts) rope.factors = Presence::kRequired;
  OCTAVO_TRY(const double magnitude, read_factor(keys, "rope.scaling.attn_factor"));
  rope.scaling.magnitude *= magnitude;
  return rope;
}

Result<RopeSpec> read_windowed_rope(const ModelKeys& keys, const AttentionSpec& attention) {
  constexpr std::string_view kNumRotated = "rope.dimension_count_swa";
  RopeSpec rope = attention.rope;
  OCTAVO_TRY(rope.base, keys.positive_or("rope.freq_base_swa", rope.base));
  if (keys.has(kNumRotated)) {
    OCTAVO_TRY(rope.num_rotated, read_num_rotated(keys, kNumRotated, attention.head_dim));
  }
  return rope;
}

Result<void> read_rope_sections(const ModelKeys& keys, bool is_interleaved, RopeSpec& rope) {
  constexpr std::string_view kSections = "rope.dimension_sections";
  constexpr std::size_t kMostSections = 4;  // the last is of a video's sound
  if (!keys.has(kSections)) return {};
  OCTAVO_TRY(std::vector<std::int32_t> given, keys.source().get_i32_array(keys.key(kSections)));
  constexpr std::int32_t kMostPairs = 1 << 16;  // more than there are is as many as there are
  const auto is_size = [](std::int32_t size) { return size >= 0 && size <= kMostPairs; };
  if (given.size() < 3 || given.size() > kMostSections || !std::ranges::all_of(given, is_size))
    return fail("{}: {} has {} numbers, expected 3 or {}, from 0 to {}", keys.path(), keys.key(kSections), given.size(),
                kMostSections, kMostPairs);
  rope.sections = {.time = given[0], .rows = given[1], .columns = given[2], .is_interleaved = is_interleaved};
  return {};
}

}  // namespace octavo
