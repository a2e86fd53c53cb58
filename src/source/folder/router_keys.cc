// Mixtures whose routers are no plain softmax, GLM-4.5, ERNIE 4.5, Hunyuan 3, Laguna, North and Ling 2, and those of
// Mellum 2.
#include <algorithm>

#include "base/text.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr double kRotatedByGlm = 0.5, kRotatedByLing = 0.5;  // of a head, where config.json does not say
constexpr std::string_view kWidth = "moe_intermediate_size";

/// A router by sigmoids: members by which weights have the sum 1, and that multiply them.
Result<void> add_sigmoid_router(const FamilyKeys& keys, std::string_view norm, std::string_view scale) {
  keys.out.add_u32(keys.key("expert_gating_func"), kSigmoidRouter);
  OCTAVO_TRY(const bool is_normed, keys.config.flag_or(norm, true));
  keys.out.add_flag(keys.key("expert_weights_norm"), is_normed);
  OCTAVO_TRY(const double factor, keys.config.number(scale));
  keys.out.add_f32(keys.key("expert_weights_scale"), factor);
  return {};
}

/// The width of the expert for every row, which is several of the others in one. `name`: the member with their width.
Result<void> add_shared_width(const FamilyKeys& keys, std::uint64_t count, std::string_view name = kWidth) {
  OCTAVO_TRY(const std::uint64_t width, keys.config.size(name));
  if (width != 0 && count > kMostModelSize / width)
    return fail("{} is {}, with {} experts for every row more than {}", keys.config.place(name), width, count,
                kMostModelSize);
  if (count > 0) keys.out.add_u32(keys.key("expert_shared_feed_forward_length"), count * width);
  return {};
}

/// The ends of YaRN's ramp are rounded.
Result<void> check_ramp(const JsonObject& config) {
  OCTAVO_TRY(const auto rope, rope_object(config, "full_attention"));
  if (!rope) return {};
  OCTAVO_TRY(const bool truncates, rope->flag_or("truncate", true));
  if (truncates) return {};
  return fail("{} is false: this is not supported", rope->place("truncate"));
}

/// The dense layers in front of those with a mixture, none of which may lie behind one; none: mlp_layer_types is
/// missing.
Result<std::optional<std::size_t>> leading_dense_layers(const JsonObject& config) {
  constexpr std::string_view kKinds = "mlp_layer_types";
  const TemplateList* kinds = config.find_list(kKinds);
  if (kinds == nullptr) return std::nullopt;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kinds->size(); ++i) {
    const auto* kind = std::get_if<std::string>(&(*kinds)[i]);
    const bool is_dense = kind != nullptr && *kind == "dense" && count == i;
    if (!is_dense && (kind == nullptr || *kind != "sparse"))
      return fail("{}: layer {} is {}, expected sparse", config.place(kKinds), i,
                  kind == nullptr ? "no text" : quote(*kind));
    if (is_dense) ++count;
  }
  return count;
}

/// The key for them, from mlp_layer_types or from a member that counts them.
Result<void> add_leading_dense_layers(const FamilyKeys& keys, std::string_view counted_by) {
  OCTAVO_TRY(const auto listed, leading_dense_layers(keys.config));
  OCTAVO_TRY(const auto counted, keys.config.size_if(counted_by));
  if (!listed && !counted)
    return fail("{} and {} are missing", keys.config.place("mlp_layer_types"), keys.config.place(counted_by));
  keys.out.add_u32(keys.key("leading_dense_block_count"), listed ? *listed : *counted);
  return {};
}

Result<void> refuse_dense_layers(const JsonObject& config) {
  OCTAVO_TRY(const auto count, leading_dense_layers(config));
  if (count.value_or(0) == 0) return {};
  return fail("{}: layer 0 is 'dense', expected sparse", config.place("mlp_layer_types"));
}

/// The heads of each layer, or one number of all.
Result<void> add_heads_by_layer(const FamilyKeys& keys) {
  constexpr std::string_view kByLayer = "num_attention_heads_per_layer";
  const TemplateList* by_layer = keys.config.find_list(kByLayer);
  if (by_layer == nullptr) {
    constexpr SizeName kHeads[] = {{"num_attention_heads", "attention.head_count"}};
    return add_named_sizes(keys, kHeads);
  }
  OCTAVO_TRY(const std::uint64_t layers, keys.config.size("num_hidden_layers"));
  std::vector<std::int32_t> heads;
  for (const TemplateValue& element : *by_layer) {
    const auto* count = std::get_if<std::int64_t>(&element);
    if (count == nullptr || *count < 1 || static_cast<std::uint64_t>(*count) > kMostModelSize)
      return fail("{}: layer {} has {}, expected 1 to {} heads", keys.config.place(kByLayer), heads.size(),
                  describe_json(element), kMostModelSize);
    heads.push_back(static_cast<std::int32_t>(*count));
  }
  if (heads.size() != layers)
    return fail("{} has {} numbers, expected one for each of {} layers", keys.config.place(kByLayer), heads.size(),
                layers);
  keys.out.add_i32s(keys.key("attention.head_count"), heads);
  return {};
}

Result<void> add_shared_width_of(const FamilyKeys& keys, std::string_view name) {
  const SizeName width[] = {{name, "expert_shared_feed_forward_length"}};
  return add_named_sizes(keys, width);
}

}  // namespace

Result<void> add_glm4moe_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys));
  OCTAVO_TRY_VOID(add_rope_keys(keys, kRotatedByGlm));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(require_text(keys, "scoring_func", {"sigmoid"}));
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {"n_routed_experts", "num_experts_per_tok", kWidth}));
  constexpr SizeName kSizes[] = {{"n_shared_experts", "expert_shared_count"},
                                 {"first_k_dense_replace", "leading_dense_block_count"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY_VOID(add_expert_groups(keys));
  return add_sigmoid_router(keys, "norm_topk_prob", "routed_scaling_factor");
}

Result<void> add_ernie4_5_moe_keys(const FamilyKeys& keys) {
  constexpr std::string_view kLastMixture = "moe_layer_end_index", kShared = "moe_num_shared_experts";
  OCTAVO_TRY_VOID(add_plain_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "use_bias", false));
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {"moe_num_experts", "moe_k", kWidth}));
  constexpr SizeName kSizes[] = {{kShared, "expert_shared_count"},
                                 {"moe_layer_start_index", "leading_dense_block_count"},
                                 {"moe_layer_interval", "interleave_moe_layer_step"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY(const std::uint64_t layers, keys.config.size("num_hidden_layers"));
  OCTAVO_TRY(const auto last, keys.config.number_if(kLastMixture));
  if (last && *last != -1 && *last + 1 < static_cast<double>(layers))
    return fail("{} is {}, expected -1 or the last of {} layers", keys.config.place(kLastMixture), *last, layers);
  OCTAVO_TRY(const std::uint64_t count, keys.config.size(kShared));
  return add_shared_width(keys, count);
}

Result<void> add_mellum_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_plain_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "norm_topk_prob", true));
  OCTAVO_TRY_VOID(refuse_dense_layers(keys.config));
  OCTAVO_TRY_VOID(check_ramp(keys.config));
  OCTAVO_TRY_VOID(add_windows(keys));
  return add_mixture_keys(keys, {name_of_experts(keys.config), "num_experts_per_tok", kWidth});
}

// Layers without a router are dense: no key counts them.
Result<void> add_hy_v3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_plain_keys(keys));
  for (const std::string_view name : {"attention_bias", "mlp_bias"}) OCTAVO_TRY_VOID(require_flag(keys, name, false));
  for (const std::string_view name : {"qk_norm", "moe_router_use_sigmoid"})
    OCTAVO_TRY_VOID(require_flag(keys, name, true));
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {name_of_experts(keys.config), "num_experts_per_tok", kWidth}));
  OCTAVO_TRY(const auto shared, keys.config.size_if("num_shared_experts"));
  OCTAVO_TRY_VOID(add_shared_width(keys, shared.value_or(1)));
  return add_sigmoid_router(keys, "route_norm", "router_scaling_factor");
}

Result<void> add_laguna_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_sizes_but_heads(keys, {"silu"}));
  OCTAVO_TRY_VOID(add_heads_by_layer(keys));
  OCTAVO_TRY_VOID(add_equal_parts(keys));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  OCTAVO_TRY_VOID(check_ramp(keys.config));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_windows(keys));
  for (const std::string_view name : {"moe_apply_router_weight_on_input", "swa_attention_sink_enabled"})
    OCTAVO_TRY_VOID(require_flag(keys, name, false));
  OCTAVO_TRY_VOID(require_number(keys, "moe_router_logit_softcapping", 0));
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {name_of_experts(keys.config), "num_experts_per_tok", kWidth}));
  OCTAVO_TRY_VOID(add_shared_width_of(keys, "shared_expert_intermediate_size"));
  OCTAVO_TRY_VOID(add_leading_dense_layers(keys, "first_k_dense_replace"));
  return add_sigmoid_router(keys, "norm_topk_prob", "moe_routed_scaling_factor");
}

// The experts' width is called as others' dense feed-forward's is.
Result<void> add_cohere2moe_keys(const FamilyKeys& keys) {
  constexpr std::string_view kShared = "num_shared_experts", kDense = "prefix_dense_intermediate_size",
                             kExpertWidth = "intermediate_size";
  OCTAVO_TRY_VOID(add_sizes(keys, {"silu"}));
  OCTAVO_TRY_VOID(add_head_sizes(keys));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_windows(keys));
  OCTAVO_TRY(const double scale, keys.config.number("logit_scale"));
  keys.out.add_f32(keys.key("logit_scale"), scale);
  OCTAVO_TRY_VOID(require_text(keys, "expert_selection_fn", {"sigmoid"}));
  OCTAVO_TRY_VOID(require_text(keys, "shared_expert_combination_strategy", {"average"}));
  OCTAVO_TRY_VOID(require_number(keys, "prefix_dense_sliding_window_pattern", 1));
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {name_of_experts(keys.config), "num_experts_per_tok", kExpertWidth}));
  OCTAVO_TRY(const std::uint64_t width, keys.config.size(kExpertWidth));
  OCTAVO_TRY(const auto dense, keys.config.size_if(kDense));
  keys.out.add_u32(keys.key("feed_forward_length"), dense.value_or(width));
  OCTAVO_TRY(const auto shared, keys.config.size_if(kShared));
  if (shared) keys.out.add_u32(keys.key("expert_shared_count"), *shared);  // for llama.cpp, beside their width
  OCTAVO_TRY_VOID(add_shared_width(keys, shared.value_or(0), kExpertWidth));
  OCTAVO_TRY_VOID(add_leading_dense_layers(keys, "first_k_dense_replace"));
  keys.out.add_u32(keys.key("expert_gating_func"), kSigmoidRouter);
  OCTAVO_TRY(const bool is_normed, keys.config.flag_or("norm_topk_prob", true));
  keys.out.add_flag(keys.key("expert_weights_norm"), is_normed);
  return {};
}

Result<void> add_bailingmoe2_keys(const FamilyKeys& keys) {
  constexpr std::string_view kShared = "num_shared_experts";
  OCTAVO_TRY_VOID(add_common_keys(keys, {"silu"}));
  OCTAVO_TRY_VOID(add_rope_keys(keys, kRotatedByLing));
  OCTAVO_TRY_VOID(add_context(keys));
  for (const std::string_view name : {"use_bias", "use_qkv_bias"}) OCTAVO_TRY_VOID(require_flag(keys, name, false));
  OCTAVO_TRY_VOID(require_flag(keys, "use_qk_norm", true));
  OCTAVO_TRY_VOID(require_text(keys, "score_function", {"sigmoid"}));
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {name_of_experts(keys.config), "num_experts_per_tok", kWidth}));
  constexpr SizeName kSizes[] = {{kShared, "expert_shared_count"},
                                 {"first_k_dense_replace", "leading_dense_block_count"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY_VOID(add_expert_groups(keys));
  OCTAVO_TRY_VOID(add_sigmoid_router(keys, "norm_topk_prob", "routed_scaling_factor"));
  OCTAVO_TRY(const std::uint64_t shared, keys.config.size(kShared));
  return add_shared_width(keys, shared);
}

}  // namespace octavo
