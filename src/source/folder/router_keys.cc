// Mixtures whose routers are no plain softmax, GLM-4.5, ERNIE 4.5 and Hunyuan 3, and those of Mellum 2.
#include <algorithm>

#include "base/text.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr double kRotatedByGlm = 0.5;  // of a head, where config.json does not say
constexpr std::uint64_t kSigmoid = 2;  // of expert_gating_func
constexpr std::string_view kWidth = "moe_intermediate_size";

/// A router by sigmoids: members by which weights have the sum 1, and that multiply them.
Result<void> add_sigmoid_router(const FamilyKeys& keys, std::string_view norm, std::string_view scale) {
  keys.out.add_u32(keys.key("expert_gating_func"), kSigmoid);
  OCTAVO_TRY(const bool is_normed, keys.config.flag_or(norm, true));
  keys.out.add_flag(keys.key("expert_weights_norm"), is_normed);
  OCTAVO_TRY(const double factor, keys.config.number(scale));
  keys.out.add_f32(keys.key("expert_weights_scale"), factor);
  return {};
}

Result<void> add_groups(const FamilyKeys& keys) {
  if (!keys.config.has("n_group") && !keys.config.has("topk_group")) return {};
  constexpr SizeName kGroups[] = {{"n_group", "expert_group_count"}, {"topk_group", "expert_group_used_count"}};
  return add_named_sizes(keys, kGroups);
}

/// The width of the expert for every row, which is several of the others in one.
Result<void> add_shared_width(const FamilyKeys& keys, std::uint64_t count) {
  OCTAVO_TRY(const std::uint64_t width, keys.config.size(kWidth));
  if (width != 0 && count > kMostModelSize / width)
    return fail("{} is {}, with {} experts for every row more than {}", keys.config.place(kWidth), width, count,
                kMostModelSize);
  if (count > 0) keys.out.add_u32(keys.key("expert_shared_feed_forward_length"), count * width);
  return {};
}

/// Windowed layers have plain positions, by a base of their own.
Result<void> add_windows(const FamilyKeys& keys) {
  OCTAVO_TRY(const bool has_windows, keys.config.flag_or("use_sliding_window", true));
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"full_attention", "sliding_attention"}));
  std::vector<bool> is_windowed;
  for (const std::string_view kind : kinds) is_windowed.push_back(kind == "sliding_attention");
  if (!has_windows || std::ranges::find(is_windowed, true) == is_windowed.end()) return {};
  OCTAVO_TRY_VOID(add_window(keys));
  keys.out.add_flags(keys.key("attention.sliding_window_pattern"), is_windowed);
  OCTAVO_TRY(const auto rope, rope_object(keys.config, "sliding_attention"));
  if (!rope) return {};
  const std::string_view type_name = rope->has("rope_type") ? "rope_type" : "type";
  if (rope->has(type_name)) {
    OCTAVO_TRY(const std::string_view type, rope->text(type_name));
    if (type != "default") return fail("{} is {}, expected default", rope->place(type_name), quote(type));
  }
  OCTAVO_TRY(const auto base, rope->number_if("rope_theta"));
  if (base) keys.out.add_f32(keys.key("rope.freq_base_swa"), *base);
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

Result<void> refuse_dense_layers(const JsonObject& config) {
  constexpr std::string_view kKinds = "mlp_layer_types";
  const TemplateList* kinds = config.find_list(kKinds);
  if (kinds == nullptr) return {};
  for (std::size_t i = 0; i < kinds->size(); ++i) {
    const auto* kind = std::get_if<std::string>(&(*kinds)[i]);
    if (kind == nullptr || *kind != "sparse")
      return fail("{}: layer {} is {}, expected sparse", config.place(kKinds), i,
                  kind == nullptr ? "no text" : quote(*kind));
  }
  return {};
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
  OCTAVO_TRY_VOID(add_groups(keys));
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

}  // namespace octavo
