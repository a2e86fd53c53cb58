// Qwen 2, 3, 3-Next and 3.5.
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"
#include "source/folder/tower.h"

namespace octavo {
namespace {

constexpr double kRotatedByQwen35 = 0.25;  // the rotated part of a head, where config.json does not say
constexpr std::uint64_t kAttentionEvery = 4;
constexpr SizeName kSharedExpert[] = {{"shared_expert_intermediate_size", "expert_shared_feed_forward_length"}};
constexpr std::size_t kSections = 4;  // the sections of a rotation: text, height, width and one more

/// Adds which layers keep a recurrent state.
Result<void> add_recurrent_layers(const FamilyKeys& keys) {
  OCTAVO_TRY(const auto interval, keys.config.size_if("full_attention_interval"));
  keys.out.add_u32(keys.key("full_attention_interval"), interval.value_or(kAttentionEvery));
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"full_attention", "linear_attention"}));
  if (kinds.empty()) return {};
  std::vector<bool> is_recurrent;
  for (const std::string_view kind : kinds) is_recurrent.push_back(kind == "linear_attention");
  keys.out.add_flags(keys.key("attention.recurrent_layers"), is_recurrent);
  return {};
}

/// Adds the delta net's heads and convolution.
Result<void> add_delta_keys(const FamilyKeys& keys) {
  constexpr SizeName kSizes[] = {{"linear_conv_kernel_dim", "ssm.conv_kernel"},
                                 {"linear_key_head_dim", "ssm.state_size"},
                                 {"linear_num_key_heads", "ssm.group_count"},
                                 {"linear_num_value_heads", "ssm.time_step_rank"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY(const std::uint64_t heads, keys.config.size("linear_num_value_heads"));
  OCTAVO_TRY(const std::uint64_t head, keys.config.size("linear_value_head_dim"));
  keys.out.add_u32(keys.key("ssm.inner_size"), heads * head);
  return {};
}

/// Adds the rotation's sections. Text has the same position in all; pictures have not.
Result<void> add_sections(const FamilyKeys& keys) {
  std::vector<std::int32_t> sections = {11, 11, 10};
  OCTAVO_TRY(const auto rope, rope_object(keys.config));
  if (const TemplateList* list = rope ? rope->find_list("mrope_section") : nullptr) {
    sections.clear();
    for (const TemplateValue& element : *list)
      if (const auto* size = std::get_if<std::int64_t>(&element)) sections.push_back(static_cast<std::int32_t>(*size));
  }
  sections.resize(kSections);
  keys.out.add_i32s(keys.key("rope.dimension_sections"), sections);
  return {};
}

/// Adds the keys of mixtures in all layers, whose chosen experts' weights are normalized to the sum 1.
Result<void> add_all_mixtures(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(require_flag(keys, "norm_topk_prob", true));
  OCTAVO_TRY(const auto step, keys.config.size_if("decoder_sparse_step"));
  const TemplateList* layers = keys.config.find_list("mlp_only_layers");
  if (step.value_or(1) != 1 || (layers != nullptr && !layers->empty()))
    return fail("{} or {}: layers without experts are not supported", keys.config.place("decoder_sparse_step"),
                keys.config.place("mlp_only_layers"));
  return add_mixture_keys(keys, {name_of_experts(keys.config), "num_experts_per_tok", "moe_intermediate_size"});
}

}  // namespace

Result<void> add_qwen_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "use_sliding_window", false));
  return add_context(keys);
}

Result<void> add_qwen3moe_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_qwen_keys(keys));
  return add_all_mixtures(keys);
}

Result<void> add_qwen3vlmoe_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_qwen3vl_keys(keys));
  return add_all_mixtures(keys);
}

Result<void> add_qwen3vl_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_qwen_keys(keys));
  OCTAVO_TRY(const auto vision, keys.whole.object_if("vision_config"));
  if (vision) {
    OCTAVO_TRY(const auto mergers, deepstack_layers(*vision));
    if (!mergers.empty()) keys.out.add_u32(keys.key("n_deepstack_layers"), mergers.size());
  }
  return add_sections(keys);
}

Result<void> add_qwen35_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys));
  OCTAVO_TRY_VOID(add_rope_keys(keys, kRotatedByQwen35));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "attn_output_gate", true));
  OCTAVO_TRY_VOID(add_sections(keys));
  OCTAVO_TRY_VOID(add_recurrent_layers(keys));
  return add_delta_keys(keys);
}

Result<void> add_qwen3next_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys));
  OCTAVO_TRY_VOID(add_rope_keys(keys, kRotatedByQwen35));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_recurrent_layers(keys));
  OCTAVO_TRY_VOID(add_delta_keys(keys));
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSharedExpert));
  return add_all_mixtures(keys);
}

Result<void> add_qwen35moe_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_qwen35_keys(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "norm_topk_prob", true));
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSharedExpert));
  return add_mixture_keys(keys, {"num_experts", "num_experts_per_tok", "moe_intermediate_size"});
}

}  // namespace octavo
