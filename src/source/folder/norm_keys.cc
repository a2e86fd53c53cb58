// Seed-OSS, ERNIE 4.5, Hunyuan, OLMo 2 and 3, EXAONE 4, Command R with R7B, GLM-4, StarCoder 2 and StableLM: Llama's
// layers with other norms.
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr std::uint64_t kGlobalLayerEvery = 4;

}  // namespace

Result<void> add_plain_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  return add_context(keys);
}

// Hunyuan's config calls a base that grows by "alpha" dynamic; it does not depend on the length of a text.
Result<void> add_hunyuan_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "use_qk_norm", true));
  OCTAVO_TRY(const auto rope, rope_object(keys.config));
  OCTAVO_TRY(const auto base, rope_number(keys.config, "rope_theta"));
  if (rope) {
    OCTAVO_TRY(const auto alpha, rope->number_if("alpha"));
    if (alpha) keys.out.add_f32(keys.key("rope.scaling.alpha"), *alpha);
  }
  if (!base) return fail("{} is missing", keys.config.place("rope_theta"));
  keys.out.add_f32(keys.key("rope.freq_base"), *base);
  return {};
}

// The config of OLMo 2 has no window; the one of EXAONE 4 has null where all layers see all positions.
Result<void> add_olmo_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_plain_keys(keys));
  OCTAVO_TRY(const auto window, keys.config.size_if("sliding_window"));
  if (!window) return {};
  OCTAVO_TRY_VOID(check_kinds_of_layers(keys, kGlobalLayerEvery));
  return add_window(keys);
}

Result<void> add_command_r_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_plain_keys(keys));
  OCTAVO_TRY(const double scale, keys.config.number("logit_scale"));
  keys.out.add_f32(keys.key("logit_scale"), scale);
  return {};
}

Result<void> add_cohere2_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_command_r_keys(keys));
  OCTAVO_TRY_VOID(check_kinds_of_layers(keys, kGlobalLayerEvery));
  return add_window(keys);
}

// Up to the window's length all layers see all positions.
Result<void> add_starcoder2_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys, {"gelu_pytorch_tanh"}));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "use_bias", true));
  OCTAVO_TRY(const auto window, keys.config.size_if("sliding_window"));
  return add_context(keys, window);
}

}  // namespace octavo
