#include "engine/sampling_defaults.h"

#include <limits>

#include "sampler/sampler.h"

namespace octavo {
namespace {

Result<std::optional<float>> read_float(const ModelSource& source, std::string_view key) {
  if (source.find(key) == nullptr) return std::nullopt;
  OCTAVO_TRY(const float value, source.get_f32(key));
  return value;
}

}  // namespace

Result<SamplingDefaults> SamplingDefaults::read(const ModelSource& source) {
  SamplingDefaults defaults;
  OCTAVO_TRY(defaults.temperature, read_float(source, "general.sampling.temp"));
  OCTAVO_TRY(defaults.top_p, read_float(source, "general.sampling.top_p"));
  OCTAVO_TRY(defaults.min_p, read_float(source, "general.sampling.min_p"));
  constexpr std::string_view kTopK = "general.sampling.top_k";
  if (const MetadataValue* value = source.find(kTopK)) {
    // llama.cpp writes an int32 in which 0 and less keep all tokens.
    const std::int64_t* negative = std::get_if<std::int64_t>(&value->value);
    if (negative != nullptr && *negative <= 0) {
      defaults.top_k = 0;
    } else {
      OCTAVO_TRY(const std::uint64_t top_k, source.get_u64(kTopK));
      constexpr std::uint64_t kLargest = std::numeric_limits<int>::max();
      if (top_k > kLargest) return fail("{}: {}: found {}, expected at most {}", source.name(), kTopK, top_k, kLargest);
      defaults.top_k = static_cast<int>(top_k);
    }
  }
  if (const Result<void> valid = check_sampling_params(defaults.over({})); !valid) {
    return fail("{}: general.sampling: {}", source.name(), valid.error().message);
  }
  return defaults;
}

SamplingParams SamplingDefaults::over(SamplingParams params) const {
  params.temperature = temperature.value_or(params.temperature);
  params.top_k = top_k.value_or(params.top_k);
  params.top_p = top_p.value_or(params.top_p);
  params.min_p = min_p.value_or(params.min_p);
  return params;
}

}  // namespace octavo
