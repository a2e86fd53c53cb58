// Families with Llama's layers whose rows are scaled, that have layers without rotary positions, or another activation.
#include <cmath>

#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

/// SmolLM3's layers without rotary positions, which no key of GGUF names.
constexpr std::size_t kUnrotatedLayerEvery = 4;

Result<void> check_unrotated_layers(const JsonObject& config) {
  constexpr std::string_view kLayers = "no_rope_layers", kInterval = "no_rope_layer_interval";
  const TemplateList* flags = config.find_list(kLayers);
  if (flags == nullptr) {
    OCTAVO_TRY(const auto interval, config.size_if(kInterval));
    if (interval.value_or(kUnrotatedLayerEvery) == kUnrotatedLayerEvery) return {};
    return fail("{} is {}, expected {}", config.place(kInterval), *interval, kUnrotatedLayerEvery);
  }
  for (std::size_t i = 0; i < flags->size(); ++i) {
    const std::int64_t expected = (i + 1) % kUnrotatedLayerEvery == 0 ? 0 : 1;
    const auto* flag = std::get_if<std::int64_t>(&(*flags)[i]);
    if (flag == nullptr || *flag != expected)
      return fail("{}: expected {} for layer {}", config.place(kLayers), expected, i);
  }
  return {};
}

Result<void> add_number(const FamilyKeys& keys, std::string_view from, std::string_view to) {
  OCTAVO_TRY(const auto number, keys.config.number_if(from));
  if (number) keys.out.add_f32(keys.key(to), *number);
  return {};
}

}  // namespace

Result<void> add_granite_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_llama_keys(keys));
  return add_granite_scales(keys);
}

Result<void> add_granite_scales(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_number(keys, "embedding_multiplier", "embedding_scale"));
  OCTAVO_TRY_VOID(add_number(keys, "residual_multiplier", "residual_scale"));
  OCTAVO_TRY_VOID(add_number(keys, "attention_multiplier", "attention.scale"));
  return add_number(keys, "logits_scaling", "logit_scale");
}

Result<void> add_arcee_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys, {"relu2"}));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  return add_context(keys);
}

Result<void> add_apertus_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys, {"xielu"}));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  return add_context(keys);
}

Result<void> add_spark2_5_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys, {"gelu"}));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  for (const std::string_view name : {"attention_bias", "mlp_bias"}) OCTAVO_TRY_VOID(require_flag(keys, name, false));
  OCTAVO_TRY_VOID(require_flag(keys, "headwise_attn_output_gate", true));
  OCTAVO_TRY_VOID(require_text(keys, "gate_attn_act_mode", {"sigmoid"}));
  OCTAVO_TRY_VOID(add_windows(keys));
  return add_context(keys);
}

Result<void> add_smollm3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "use_sliding_window", false));
  OCTAVO_TRY_VOID(check_unrotated_layers(keys.config));
  return add_context(keys);
}

Result<void> add_nanbeige_keys(const FamilyKeys& keys) {
  constexpr std::string_view kPasses = "num_loops", kSkipsNorm = "skip_loop_final_norm";
  OCTAVO_TRY_VOID(add_llama_keys(keys));
  OCTAVO_TRY(const auto passes, keys.config.size_if(kPasses));
  if (passes) keys.out.add_u32(keys.key(kPasses), *passes);
  OCTAVO_TRY(const bool skips_norm, keys.config.flag_or(kSkipsNorm, false));
  keys.out.add_u32(keys.key(kSkipsNorm), skips_norm ? 1 : 0);
  return {};
}

Result<void> add_minicpm_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_llama_keys(keys));
  OCTAVO_TRY_VOID(add_number(keys, "scale_emb", "embedding_scale"));
  OCTAVO_TRY(const auto depth, keys.config.number_if("scale_depth"));
  OCTAVO_TRY(const std::uint64_t layers, keys.config.size("num_hidden_layers"));
  if (depth && layers > 0)
    keys.out.add_f32(keys.key("residual_scale"), *depth / std::sqrt(static_cast<double>(layers)));
  OCTAVO_TRY(const auto base, keys.config.number_if("dim_model_base"));
  OCTAVO_TRY(const std::uint64_t width, keys.config.size("hidden_size"));
  if (base && *base > 0) keys.out.add_f32(keys.key("logit_scale"), static_cast<double>(width) / *base);
  return {};
}

}  // namespace octavo
