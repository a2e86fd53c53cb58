#include "api/llama/llama_props.h"

#include <boost/json/array.hpp>
#include <span>

#include "api/call/picture_text.h"
#include "octavo/version.h"
#include "sampler/sampler_order.h"

namespace octavo {
namespace {

namespace json = boost::json;

json::array sampler_names(const SamplingParams& sampling) {
  json::array names;
  const std::span<const SamplerStep> steps =
      sampling.order.empty() ? std::span<const SamplerStep>(kDefaultSamplerOrder) : sampling.order;
  for (const SamplerStep step : steps) names.emplace_back(sampler_step_name(step));
  return names;
}

/// The sampling settings under llama.cpp's names.
json::object params(const SamplingParams& sampling) {
  return {{"n_predict", -1},
          {"temperature", sampling.temperature},
          {"dynatemp_range", sampling.dynamic_temperature.range},
          {"dynatemp_exponent", sampling.dynamic_temperature.exponent},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"top_n_sigma", sampling.top_n_sigma},
          {"typical_p", sampling.typical_p},
          {"xtc_probability", sampling.xtc.probability},
          {"xtc_threshold", sampling.xtc.threshold},
          {"repeat_last_n", sampling.penalty_window},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"dry_multiplier", sampling.dry.multiplier},
          {"dry_base", sampling.dry.base},
          {"dry_allowed_length", sampling.dry.allowed_length},
          {"dry_penalty_last_n", sampling.dry.window},
          {"mirostat", sampling.mirostat.version},
          {"mirostat_tau", sampling.mirostat.tau},
          {"mirostat_eta", sampling.mirostat.eta},
          {"samplers", sampler_names(sampling)}};
}

}  // namespace

json::object llama_props(const ServedModel& model, const ModelInfo& info) {
  return {{"default_generation_settings", {{"n_ctx", info.max_context}, {"params", params(model.sampling_defaults)}}},
          {"total_slots", model.policy.max_choices},
          {"model_alias", model.id},
          {"model_path", info.file_name},
          {"chat_template", info.chat_template},
          {"modalities", {{"vision", info.vision.sees()}, {"audio", false}}},
          {"media_marker", kMediaMarker},
          {"pooling", pooling_name(info.embedding.pooling)},
          {"build_info", "octavo " OCTAVO_VERSION_STRING},
          {"is_sleeping", false}};
}

}  // namespace octavo
