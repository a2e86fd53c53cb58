// Gemma 4: heads of the layers without a window have sizes of their own.
#include <algorithm>

#include "base/to_size.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

/// A size in the layers without a window: `global`, or the first such layer's `own` in per_layer_config, as
/// transformers 5 writes it; none: the same size as in the other layers.
Result<std::optional<std::uint64_t>> global_size(const JsonObject& config, std::string_view global,
                                                 std::string_view own) {
  if (config.has(global)) return config.size_if(global);
  OCTAVO_TRY(const auto layers, config.object_if("per_layer_config"));
  if (!layers) return std::nullopt;
  OCTAVO_TRY(const auto kinds, layer_kinds(config, {"full_attention", "sliding_attention"}));
  if (layers->members().size() > kinds.size())
    return fail("{} has {} members, expected at most one for each of {} layers", config.place("per_layer_config"),
                layers->members().size(), kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != "full_attention") continue;
    OCTAVO_TRY(const auto layer, layers->object_if(fmt::format("{}", i)));
    if (layer && layer->has(own)) return layer->size_if(own);
  }
  return std::nullopt;
}

Result<std::uint64_t> global_head(const JsonObject& config) {
  OCTAVO_TRY(const auto head, global_size(config, "global_head_dim", "head_dim"));
  return head ? check_head_length(config, "global_head_dim", *head) : head_length(config);
}

Result<void> add_heads(const FamilyKeys& keys, const std::vector<bool>& is_windowed) {
  OCTAVO_TRY(const std::uint64_t head, head_length(keys.config));
  OCTAVO_TRY(const std::uint64_t global, global_head(keys.config));
  for (const std::string_view suffix : {"attention.key_length", "attention.value_length", "rope.dimension_count"}) {
    keys.out.add_u32(keys.key(suffix), global);
    keys.out.add_u32(keys.key(fmt::format("{}_swa", suffix)), head);
  }
  OCTAVO_TRY(const std::uint64_t kv_heads, keys.config.size("num_key_value_heads"));
  OCTAVO_TRY(const auto of_global, global_size(keys.config, "num_global_key_value_heads", "num_key_value_heads"));
  if (std::max(kv_heads, of_global.value_or(0)) > kMostModelSize)
    return fail("{}: expected at most {}", keys.config.place("num_key_value_heads"), kMostModelSize);
  std::vector<std::int32_t> counts;
  counts.reserve(is_windowed.size());
  for (const bool windowed : is_windowed)
    counts.push_back(static_cast<std::int32_t>(windowed ? kv_heads : of_global.value_or(kv_heads)));
  keys.out.add_i32s(keys.key("attention.head_count_kv"), counts);
  return {};
}

/// Adds the widths of the feed-forwards: layers that borrow keys and values may have twice the width.
Result<void> add_feed_forwards(const FamilyKeys& keys, std::size_t num_layers) {
  OCTAVO_TRY(const auto shared, keys.config.size_if("num_kv_shared_layers"));
  OCTAVO_TRY(const std::uint64_t width, keys.config.size("intermediate_size"));
  if (width > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.config.place("intermediate_size"), width, kMostModelSize);
  OCTAVO_TRY(const bool widens, keys.config.flag_or("use_double_wide_mlp", false));
  const std::size_t num_shared = std::min(to_size(shared.value_or(0)), num_layers);
  keys.out.add_u32(keys.key("attention.shared_kv_layers"), num_shared);
  std::vector<std::int32_t> widths(num_layers, static_cast<std::int32_t>(width));
  if (widens) std::fill(widths.end() - static_cast<std::ptrdiff_t>(num_shared), widths.end(), 2 * widths.front());
  keys.out.add_i32s(keys.key("feed_forward_length"), widths);
  OCTAVO_TRY(const auto per_layer, keys.config.size_if("hidden_size_per_layer_input"));
  keys.out.add_u32(keys.key("embedding_length_per_layer_input"), per_layer.value_or(0));
  return {};
}

Result<void> add_experts(const FamilyKeys& keys) {
  OCTAVO_TRY(const bool has_experts, keys.config.flag_or("enable_moe_block", false));
  if (!has_experts) return {};
  const bool is_old = keys.config.has("expert_intermediate_size");
  return add_mixture_keys(
      keys, {"num_experts", "top_k_experts", is_old ? "expert_intermediate_size" : "moe_intermediate_size"});
}

}  // namespace

Result<void> add_gemma4_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_sizes(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_window(keys));
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"full_attention", "sliding_attention"}));
  if (kinds.empty()) return fail("{} is missing", keys.config.place("layer_types"));
  std::vector<bool> is_windowed;
  for (const std::string_view kind : kinds) is_windowed.push_back(kind == "sliding_attention");
  keys.out.add_flags(keys.key("attention.sliding_window_pattern"), is_windowed);
  OCTAVO_TRY_VOID(add_heads(keys, is_windowed));
  OCTAVO_TRY_VOID(add_rope_bases(keys));
  OCTAVO_TRY_VOID(add_feed_forwards(keys, kinds.size()));
  OCTAVO_TRY_VOID(add_experts(keys));
  OCTAVO_TRY(const auto cap, keys.config.number_if("final_logit_softcapping"));
  if (cap) keys.out.add_f32(keys.key("final_logit_softcapping"), *cap);
  return {};
}

Result<std::vector<float>> gemma4_rope_factors(const JsonObject& config, Math /*math*/) {
  OCTAVO_TRY(const std::uint64_t head, global_head(config));
  return proportional_rope_factors(config, head);
}

}  // namespace octavo
