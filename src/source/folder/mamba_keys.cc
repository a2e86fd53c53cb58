// Hybrids with Mamba-2: Granite 4.0 H.
#include <algorithm>

#include "base/text.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

/// The members of a model's config that say the sizes of its Mamba-2.
struct MambaNames {
  std::string_view heads, head_dim, groups, state, taps;
};

/// `inner`: of all heads together, where config.json says it; otherwise their product.
Result<void> add_mamba_keys(const FamilyKeys& keys, const MambaNames& names, std::optional<std::uint64_t> inner = {}) {
  const SizeName sizes[] = {{names.heads, "ssm.time_step_rank"},
                            {names.groups, "ssm.group_count"},
                            {names.state, "ssm.state_size"},
                            {names.taps, "ssm.conv_kernel"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, sizes));
  OCTAVO_TRY(const std::uint64_t heads, keys.config.size(names.heads));
  if (!inner) {
    OCTAVO_TRY(const std::uint64_t head, keys.config.size(names.head_dim));
    if (heads > kMostModelSize || head > kMostModelSize)
      return fail("{} is {} and {} is {}, expected at most {}", keys.config.place(names.heads), heads,
                  keys.config.place(names.head_dim), head, kMostModelSize);
    inner = heads * head;
  }
  keys.out.add_u32(keys.key("ssm.inner_size"), *inner);
  return {};
}

/// Error: steps are bounded, which they are in no model.
Result<void> require_free_steps(const JsonObject& config) {
  constexpr std::string_view kLimit = "time_step_limit";
  const TemplateList* limit = config.find_list(kLimit);
  if (limit == nullptr || limit->empty()) return {};
  const auto* lowest = std::get_if<double>(&limit->front());
  const auto* whole = std::get_if<std::int64_t>(&limit->front());
  if ((lowest != nullptr && *lowest == 0) || (whole != nullptr && *whole == 0)) return {};
  return fail("{} begins with {}, expected 0", config.place(kLimit), describe_json(limit->front()));
}

}  // namespace

/// transformers 5 calls Mamba-2 linear attention.
Result<void> add_granitehybrid_keys(const FamilyKeys& keys) {
  constexpr std::string_view kShared = "shared_intermediate_size", kPositions = "position_embedding_type";
  OCTAVO_TRY_VOID(add_sizes(keys, {"silu", "swish"}));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"mamba", "linear_attention", "attention", "full_attention"}));
  if (kinds.empty()) return fail("{} is missing", keys.config.place("layer_types"));
  std::vector<bool> attends;
  for (const std::string_view kind : kinds) attends.push_back(kind == "attention" || kind == "full_attention");
  OCTAVO_TRY_VOID(add_kv_heads(keys, attends));
  OCTAVO_TRY_VOID(
      add_mamba_keys(keys, {"mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv"}));
  OCTAVO_TRY_VOID(require_free_steps(keys.config));
  OCTAVO_TRY_VOID(require_flag(keys, "mamba_proj_bias", false));
  OCTAVO_TRY_VOID(add_granite_scales(keys));
  const bool is_rotated = keys.config.has(kPositions);
  if (is_rotated) OCTAVO_TRY_VOID(require_text(keys, kPositions, {"rope", "nope"}));
  OCTAVO_TRY(const std::string_view positions, is_rotated ? keys.config.text(kPositions) : "nope");
  keys.out.add_flag(keys.key("rope.scaling.finetuned"), positions == "rope");
  OCTAVO_TRY(const auto experts, keys.config.size_if("num_local_experts"));
  OCTAVO_TRY(const std::uint64_t shared, keys.config.size(kShared));
  if (experts.value_or(0) == 0) {
    keys.out.add_u32(keys.key("feed_forward_length"), shared);
    return {};
  }
  keys.out.add_u32(keys.key("expert_shared_feed_forward_length"), shared);
  constexpr SizeName kSizes[] = {{"num_local_experts", "expert_count"},
                                 {"num_experts_per_tok", "expert_used_count"},
                                 {"intermediate_size", "feed_forward_length"}};
  return add_named_sizes(keys, kSizes);
}

}  // namespace octavo
