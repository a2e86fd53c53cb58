// Muse Glimmer: the language model of a folder that also has an encoder of pictures.
#include <utility>

#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

constexpr std::uint64_t kGlobalLayerEvery = 4;  // counted from the last layer, where config.json does not say
constexpr double kPostNormEpsilon = 1e-8, kQueryScale = 3.87;

Result<void> add_pattern(const FamilyKeys& keys) {
  OCTAVO_TRY(const std::uint64_t layers, number_of_layers(keys.config));
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"full_attention", "sliding_attention"}));
  std::vector<bool> is_windowed;
  is_windowed.reserve(layers);
  for (std::uint64_t i = 0; i < layers; ++i)
    is_windowed.push_back(kinds.empty() ? (layers - 1 - i) % kGlobalLayerEvery != 0 : kinds[i] == "sliding_attention");
  keys.out.add_flags(keys.key("attention.sliding_window_pattern"), is_windowed);
  return {};
}

Result<double> query_scale(const JsonObject& config) {
  OCTAVO_TRY(const auto scale, config.number_if("qk_scale_factor"));
  return scale.value_or(kQueryScale);
}

}  // namespace

// Layers with a base of 0 have no rotation; they are the ones that see all positions.
Result<void> add_muse_glimmer_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_window(keys));
  OCTAVO_TRY_VOID(add_pattern(keys));
  OCTAVO_TRY_VOID(require_text(keys, "hidden_activation", {"silu", "swish"}));
  OCTAVO_TRY(const auto epsilon, keys.config.number_if("post_norm_eps"));
  if (epsilon.value_or(kPostNormEpsilon) != kPostNormEpsilon)
    return fail("{} is {}, expected {}", keys.config.place("post_norm_eps"), *epsilon, kPostNormEpsilon);
  OCTAVO_TRY(const double scale, keys.config.number("output_multiplier"));
  keys.out.add_f32(keys.key("logit_scale"), scale);
  OCTAVO_TRY(const double cap, keys.config.number("final_logit_softcapping"));
  keys.out.add_f32(keys.key("final_logit_softcapping"), cap);
  return {};
}

// The original's norms of heads have no weights; Q's is multiplied by a number.
Result<std::vector<MadeVector>> muse_glimmer_head_norms(const JsonObject& config) {
  OCTAVO_TRY(const std::uint64_t layers, config.size("num_hidden_layers"));
  OCTAVO_TRY(const std::uint64_t head, head_length(config));
  OCTAVO_TRY(const double scale, query_scale(config));
  std::vector<MadeVector> made;
  for (int i = 0; std::cmp_less(i, layers); ++i) {
    made.push_back({tensor_names::of_layer(i, tensor_names::kQNorm), std::vector(head, static_cast<float>(scale))});
    made.push_back({tensor_names::of_layer(i, tensor_names::kKNorm), std::vector(head, 1.0F)});
  }
  return made;
}

}  // namespace octavo
