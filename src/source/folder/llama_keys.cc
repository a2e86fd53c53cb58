// Llama, Mistral and Mixtral, and Mistral 3 with Ministral 3.
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {

Result<void> add_llama_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY(const auto window, keys.config.size_if("sliding_window"));  // the first Mistral models
  return add_context(keys, window);
}

Result<void> add_mixtral_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_llama_keys(keys));
  return add_mixture_keys(keys, {"num_local_experts", "num_experts_per_tok", "intermediate_size"});
}

// Ministral scales scores up with the position, by the logarithm of how often the first context fits before it.
Result<void> add_mistral3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_llama_keys(keys));
  OCTAVO_TRY(const auto rope, rope_object(keys.config));
  if (!rope) return {};
  OCTAVO_TRY(const auto mscale, rope->number_if("mscale"));
  if (mscale.value_or(1) != 1) return fail("{} is {}, expected 1", rope->place("mscale"), *mscale);
  OCTAVO_TRY(const auto slope, rope->number_if("llama_4_scaling_beta"));
  if (slope) keys.out.add_f32(keys.key("attention.temperature_scale"), *slope);
  return {};
}

}  // namespace octavo
