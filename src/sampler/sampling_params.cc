// The values that SamplingParams may have.
#include <cmath>

#include "base/error.h"
#include "base/to_size.h"
#include "sampler/sampler.h"
#include "sampler/sampler_order.h"

namespace octavo {
namespace {

Result<void> check_between(std::string_view field, float value, float low, float high) {
  if (value >= low && value <= high) return {};
  return fail("{}: found {}, expected {} to {}", field, value, low, high);
}

Result<void> check_at_least(std::string_view field, float value, float low) {
  if (std::isfinite(value) && value >= low) return {};
  return fail("{}: found {}, expected a finite number of at least {}", field, value, low);
}

Result<void> check_count(std::string_view field, int value, std::string_view zero) {
  if (value >= 0) return {};
  return fail("{}: found {}, expected at least 0 (0 {})", field, value, zero);
}

Result<void> check_penalties(const SamplingParams& params) {
  if (!(std::isfinite(params.repetition_penalty) && params.repetition_penalty > 0)) {
    return fail("repetition_penalty: found {}, expected a finite number above 0", params.repetition_penalty);
  }
  OCTAVO_TRY_VOID(check_between("frequency_penalty", params.frequency_penalty, -2, 2));
  OCTAVO_TRY_VOID(check_between("presence_penalty", params.presence_penalty, -2, 2));
  OCTAVO_TRY_VOID(check_count("penalty_window", params.penalty_window, "looks at all tokens"));
  for (const auto& [token, bias] : params.logit_bias) {
    if (!(bias >= -100 && bias <= 100)) return fail("logit_bias[{}]: found {}, expected -100 to 100", token, bias);
  }
  return {};
}

Result<void> check_dry(const Dry& dry) {
  OCTAVO_TRY_VOID(check_between("dry.multiplier", dry.multiplier, 0, 100));
  OCTAVO_TRY_VOID(check_between("dry.base", dry.base, 1, 100));
  OCTAVO_TRY_VOID(check_count("dry.allowed_length", dry.allowed_length, "allows no repetition"));
  OCTAVO_TRY_VOID(check_count("dry.window", dry.window, "looks at all tokens"));
  if (dry.breakers.size() > kMaxDryBreakers) {
    return fail("dry.breakers: found {}, expected at most {}", dry.breakers.size(), kMaxDryBreakers);
  }
  for (const std::string& breaker : dry.breakers) {
    if (breaker.empty() || breaker.size() > kMaxDryBreakerBytes) {
      return fail("dry.breakers: found one of {} bytes, expected 1 to {}", breaker.size(), kMaxDryBreakerBytes);
    }
  }
  return {};
}

Result<void> check_order(std::span<const SamplerStep> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (to_size(order[i]) >= kDefaultSamplerOrder.size()) {
      return fail("order[{}]: found {}, expected 0 to {}", i, to_size(order[i]), kDefaultSamplerOrder.size() - 1);
    }
    for (std::size_t before = 0; before < i; ++before) {
      if (order[before] == order[i])
        return fail("order: found {} twice, expected each step at most once", sampler_step_name(order[i]));
    }
  }
  return {};
}

}  // namespace

Result<void> check_sampling_params(const SamplingParams& params) {
  OCTAVO_TRY_VOID(check_at_least("temperature", params.temperature, 0));
  OCTAVO_TRY_VOID(check_count("top_k", params.top_k, "keeps all tokens"));
  OCTAVO_TRY_VOID(check_between("top_p", params.top_p, 0, 1));
  OCTAVO_TRY_VOID(check_between("min_p", params.min_p, 0, 1));
  OCTAVO_TRY_VOID(check_at_least("top_n_sigma", params.top_n_sigma, 0));
  OCTAVO_TRY_VOID(check_between("typical_p", params.typical_p, 0, 1));
  OCTAVO_TRY_VOID(check_at_least("dynamic_temperature.range", params.dynamic_temperature.range, 0));
  OCTAVO_TRY_VOID(check_at_least("dynamic_temperature.exponent", params.dynamic_temperature.exponent, 0));
  OCTAVO_TRY_VOID(check_between("xtc.probability", params.xtc.probability, 0, 1));
  OCTAVO_TRY_VOID(check_between("xtc.threshold", params.xtc.threshold, 0, 1));
  if (params.mirostat.version < 0 || params.mirostat.version > 2)
    return fail("mirostat.version: found {}, expected 0 (off), 1 or 2", params.mirostat.version);
  OCTAVO_TRY_VOID(check_between("mirostat.tau", params.mirostat.tau, 0, 100));
  OCTAVO_TRY_VOID(check_between("mirostat.eta", params.mirostat.eta, 0, 1));
  OCTAVO_TRY_VOID(check_penalties(params));
  OCTAVO_TRY_VOID(check_dry(params.dry));
  return check_order(params.order);
}

}  // namespace octavo
