// Multi-head latent attention: DeepSeek V2 and V3, GLM-4.7-Flash, Mistral 4 and MiniCPM 3.
#include <algorithm>

#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr double kRopeBase = 10000;  // of MiniCPM 3, where config.json does not say

/// The lengths of the latent, of the plain and the rotated part of a head of Q, and of a head's values.
struct LatentDims {
  std::uint64_t rank = 0, plain = 0, rotated = 0, value = 0;
};

Result<std::uint64_t> head_part(const JsonObject& config, std::string_view name) {
  OCTAVO_TRY(const std::uint64_t length, config.size(name));
  return check_head_length(config, name, length);
}

Result<LatentDims> read_dims(const JsonObject& config) {
  LatentDims dims;
  OCTAVO_TRY(dims.rank, head_part(config, "kv_lora_rank"));
  OCTAVO_TRY(dims.plain, head_part(config, "qk_nope_head_dim"));
  OCTAVO_TRY(dims.rotated, head_part(config, "qk_rope_head_dim"));
  if (config.has("v_head_dim")) {
    OCTAVO_TRY(dims.value, head_part(config, "v_head_dim"));
    return dims;
  }
  OCTAVO_TRY(const std::uint64_t width, config.size("hidden_size"));
  OCTAVO_TRY(const std::uint64_t heads, config.size("num_attention_heads"));
  dims.value = heads == 0 ? 0 : width / heads;
  return dims;
}

/// All but the rotation's angles.
Result<void> add_latent_keys(const FamilyKeys& keys, bool is_joint) {
  OCTAVO_TRY_VOID(add_sizes(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  for (const std::string_view name : {"attention_bias", "mlp_bias"}) OCTAVO_TRY_VOID(require_flag(keys, name, false));
  constexpr SizeName kSizes[] = {{"kv_lora_rank", "attention.kv_lora_rank"},
                                 {"qk_rope_head_dim", "rope.dimension_count"},
                                 {"intermediate_size", "feed_forward_length"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY(const auto q_rank, keys.config.size_if("q_lora_rank"));
  if (q_rank) keys.out.add_u32(keys.key("attention.q_lora_rank"), *q_rank);
  OCTAVO_TRY(const LatentDims dims, read_dims(keys.config));
  OCTAVO_TRY(const std::uint64_t heads, keys.config.size("num_attention_heads"));
  const std::uint64_t of_q = dims.plain + dims.rotated;
  keys.out.add_u32(keys.key("attention.head_count_kv"), is_joint ? heads : 1);
  keys.out.add_u32(keys.key("attention.key_length"), is_joint ? of_q : dims.rank + dims.rotated);
  keys.out.add_u32(keys.key("attention.value_length"), is_joint ? dims.value : dims.rank);
  if (is_joint) return {};
  keys.out.add_u32(keys.key("attention.key_length_mla"), of_q);
  keys.out.add_u32(keys.key("attention.value_length_mla"), dims.value);
  return {};
}

/// The magnitude of cosines and sines is 1 where both numbers are equal.
Result<void> check_magnitude(const JsonObject& config) {
  OCTAVO_TRY(const auto rope, rope_object(config));
  if (!rope) return {};
  OCTAVO_TRY(const auto all, rope->number_if("mscale_all_dim"));
  OCTAVO_TRY(const auto magnitude, rope->number_if("mscale"));
  if (!all || magnitude.value_or(1) == *all) return {};
  return fail("{} is {}, expected {}, which is {}", rope->place("mscale"), magnitude.value_or(1), *all,
              rope->place("mscale_all_dim"));
}

Result<void> add_router(const FamilyKeys& keys, std::uint64_t gate, bool is_normed) {
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"}));
  constexpr SizeName kSizes[] = {{"n_shared_experts", "expert_shared_count"},
                                 {"first_k_dense_replace", "leading_dense_block_count"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  if (keys.config.has("scoring_func")) {
    OCTAVO_TRY_VOID(require_text(keys, "scoring_func", {"sigmoid", "softmax"}));
    OCTAVO_TRY(const std::string_view name, keys.config.text("scoring_func"));
    gate = name == "sigmoid" ? kSigmoidRouter : kSoftmaxRouter;
  }
  keys.out.add_u32(keys.key("expert_gating_func"), gate);
  OCTAVO_TRY(const bool sums_to_one, keys.config.flag_or("norm_topk_prob", is_normed));
  keys.out.add_flag(keys.key("expert_weights_norm"), sums_to_one);
  OCTAVO_TRY(const auto scale, keys.config.number_if("routed_scaling_factor"));
  keys.out.add_f32(keys.key("expert_weights_scale"), scale.value_or(1));
  return {};
}

Result<void> add_deepseek_keys(const FamilyKeys& keys, std::uint64_t gate, bool is_normed) {
  OCTAVO_TRY_VOID(add_latent_keys(keys, false));
  OCTAVO_TRY_VOID(check_magnitude(keys.config));
  OCTAVO_TRY_VOID(add_angle_keys(keys));
  return add_router(keys, gate, is_normed);
}

}  // namespace

// V2 judges a group by its best expert alone, and no key says so.
Result<void> add_deepseek_v2_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(require_text(keys, "topk_method", {"greedy"}));
  return add_deepseek_keys(keys, kSoftmaxRouter, false);
}

Result<void> add_deepseek_v3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_deepseek_keys(keys, kSigmoidRouter, true));
  return add_expert_groups(keys);
}

Result<void> add_mistral4_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_deepseek_keys(keys, kSoftmaxRouter, true));
  OCTAVO_TRY_VOID(add_expert_groups(keys));
  OCTAVO_TRY(const auto rope, rope_object(keys.config));
  if (!rope) return {};
  OCTAVO_TRY(const auto slope, rope->number_if("llama_4_scaling_beta"));
  OCTAVO_TRY(const auto length, rope->size_if("original_max_position_embeddings"));
  if (!slope) return {};
  keys.out.add_f32(keys.key("attention.temperature_scale"), *slope);
  if (length) keys.out.add_u32(keys.key("attention.temperature_length"), std::min(*length, kMostModelSize));
  return {};
}

// Files of GGUF have neither its scales nor the kind of its factors.
Result<void> add_minicpm3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_latent_keys(keys, true));
  OCTAVO_TRY_VOID(require_number(keys, "scale_emb", 12));
  OCTAVO_TRY_VOID(require_number(keys, "scale_depth", 1.4));
  OCTAVO_TRY_VOID(require_number(keys, "dim_model_base", 256));
  OCTAVO_TRY(const auto base, rope_number(keys.config, "rope_theta"));
  OCTAVO_TRY(const auto rope, rope_object(keys.config));
  if (rope) {
    OCTAVO_TRY(const std::uint64_t context, keys.config.size("max_position_embeddings"));
    constexpr std::string_view kOriginal = "original_max_position_embeddings";
    OCTAVO_TRY(const auto original, rope->size_if(kOriginal));
    if (original.value_or(context) != context)
      return fail("{} is {}, expected the context of {}", rope->place(kOriginal), *original, context);
  }
  keys.out.add_f32(keys.key("rope.freq_base"), base.value_or(kRopeBase));
  return {};
}

}  // namespace octavo
