// Hybrids with Mamba-2: Granite 4.0 H, Nemotron-H, Falcon-H1.
#include <algorithm>
#include <limits>

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

enum class Part : std::uint8_t { kMamba, kAttention, kFeedForward, kMixture };

/// The one part of each layer: a list of names, or in earlier files a text with a letter for each.
Result<std::vector<Part>> parts_of_layers(const JsonObject& config) {
  constexpr std::string_view kList = "layers_block_type", kText = "hybrid_override_pattern";
  constexpr std::pair<std::string_view, Part> kNames[] = {
      {"M", Part::kMamba},       {"linear_attention", Part::kMamba},   {"mamba", Part::kMamba},
      {"*", Part::kAttention},   {"full_attention", Part::kAttention}, {"attention", Part::kAttention},
      {"-", Part::kFeedForward}, {"mlp", Part::kFeedForward},          {"E", Part::kMixture},
      {"moe", Part::kMixture}};
  std::vector<std::string> names;
  if (const TemplateList* list = config.find_list(kList)) {
    for (const TemplateValue& element : *list)
      if (const auto* name = std::get_if<std::string>(&element)) names.push_back(*name);
    if (names.size() != list->size()) return fail("{}: expected names of parts", config.place(kList));
  } else {
    OCTAVO_TRY(const std::string_view text, config.text(kText));
    for (const char letter : text) names.emplace_back(1, letter);
  }
  if (names.empty() || names.size() > kMostLayers)
    return fail("{} names {} layers, expected 1 to {}", config.place(kList), names.size(), kMostLayers);
  std::vector<Part> parts;
  for (const std::string& name : names) {
    const auto* known = std::ranges::find(kNames, std::string_view(name), &std::pair<std::string_view, Part>::first);
    if (known == std::end(kNames))
      return fail("{}: layer {} is {}, expected a part that is known", config.place(kList), parts.size(), quote(name));
    parts.push_back(known->second);
  }
  return parts;
}

Result<void> add_nemotron_mixture(const FamilyKeys& keys) {
  constexpr SizeName kShared[] = {{"moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length"}};
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"}));
  OCTAVO_TRY_VOID(add_named_sizes(keys, kShared));
  OCTAVO_TRY(const auto latent, keys.config.size_if("moe_latent_size"));
  if (latent) keys.out.add_u32(keys.key("moe_latent_size"), *latent);
  keys.out.add_u32(keys.key("expert_gating_func"), kSigmoidRouter);
  OCTAVO_TRY(const bool is_normed, keys.config.flag_or("norm_topk_prob", true));
  keys.out.add_flag(keys.key("expert_weights_norm"), is_normed);
  OCTAVO_TRY(const auto scale, keys.config.number_if("routed_scaling_factor"));
  keys.out.add_f32(keys.key("expert_weights_scale"), scale.value_or(1));
  return add_expert_groups(keys);
}

}  // namespace

Result<void> add_nemotron_h_keys(const FamilyKeys& keys) {
  constexpr SizeName kSizes[] = {{"hidden_size", "embedding_length"},
                                 {"num_attention_heads", "attention.head_count"},
                                 {"vocab_size", "vocab_size"}};
  OCTAVO_TRY(const std::vector<Part> parts, parts_of_layers(keys.config));
  keys.out.add_u32(keys.key("block_count"), parts.size());
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY(const double epsilon, keys.config.number("layer_norm_epsilon"));
  keys.out.add_f32(keys.key("attention.layer_norm_rms_epsilon"), epsilon);
  OCTAVO_TRY_VOID(require_text(keys, "mlp_hidden_act", {"relu2"}));
  OCTAVO_TRY_VOID(require_text(keys, "mamba_hidden_act", {"silu", "swish"}));
  const std::string_view head_name = keys.config.has("head_dim") ? "head_dim" : "attention_head_dim";
  OCTAVO_TRY(const std::uint64_t head, keys.config.size(head_name));
  OCTAVO_TRY_VOID(check_head_length(keys.config, head_name, head));
  keys.out.add_u32(keys.key("attention.key_length"), head);
  keys.out.add_u32(keys.key("attention.value_length"), head);
  OCTAVO_TRY_VOID(
      add_mamba_keys(keys, {"mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel"}));
  OCTAVO_TRY_VOID(require_free_steps(keys.config));
  const auto has = [&](Part part) { return std::ranges::find(parts, part) != parts.end(); };
  const bool is_mixture = has(Part::kMixture);
  if (is_mixture && has(Part::kFeedForward))
    return fail("{}: found layers with experts and without, expected one kind", keys.config.place("layers_block_type"));
  OCTAVO_TRY(const std::uint64_t width, keys.config.size(is_mixture ? "moe_intermediate_size" : "intermediate_size"));
  if (width > kMostModelSize) return fail("{}: found a width of {}", keys.config.place("intermediate_size"), width);
  std::vector<bool> attends;
  std::vector<std::int32_t> widths;
  for (const Part part : parts) {
    attends.push_back(part == Part::kAttention);
    const bool has_ffn = part == Part::kFeedForward || part == Part::kMixture;
    widths.push_back(has_ffn ? static_cast<std::int32_t>(width) : 0);
  }
  OCTAVO_TRY_VOID(add_kv_heads(keys, attends));
  keys.out.add_i32s(keys.key("feed_forward_length"), widths);
  return is_mixture ? add_nemotron_mixture(keys) : Result<void>();
}

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

Result<void> add_falcon_h1_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_dense_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY(const auto inner, keys.config.size_if("mamba_d_ssm"));
  if (inner && *inner > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.config.place("mamba_d_ssm"), *inner, kMostModelSize);
  OCTAVO_TRY_VOID(add_mamba_keys(
      keys, {"mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv"}, inner));
  OCTAVO_TRY_VOID(require_free_steps(keys.config));
  for (const std::string_view bias : {"attention_bias", "mlp_bias", "mamba_proj_bias", "projectors_bias"})
    OCTAVO_TRY_VOID(require_flag(keys, bias, false));
  OCTAVO_TRY(const bool is_normed, keys.config.flag_or("mamba_rms_norm", false));
  if (is_normed) OCTAVO_TRY_VOID(require_flag(keys, "mamba_norm_before_gate", false));
  OCTAVO_TRY(const bool is_tied, keys.config.flag_or("tie_word_embeddings", false));
  OCTAVO_TRY(const auto embedding, keys.config.number_if("embedding_multiplier"));
  OCTAVO_TRY(const auto output, keys.config.number_if("lm_head_multiplier"));
  if (is_tied && embedding.value_or(1) != output.value_or(1))
    return fail("{} is {} and {} is {}, expected equal ones of one matrix", keys.config.place("embedding_multiplier"),
                embedding.value_or(1), keys.config.place("lm_head_multiplier"), output.value_or(1));
  return {};
}

namespace {

/// A multiplier of Falcon-H1's config.json; 1 where it has none.
Result<double> multiplier(const JsonObject& config, std::string_view member) {
  OCTAVO_TRY(const auto given, config.number_if(member));
  return given.value_or(1);
}

/// Entry `i` of a list of multipliers; 1 where config.json has none.
Result<double> multiplier(const JsonObject& config, std::string_view member, std::size_t i) {
  const TemplateList* list = config.find_list(member);
  if (list == nullptr) return 1.0;
  if (i < list->size()) {
    if (const auto* real = std::get_if<double>(&(*list)[i])) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&(*list)[i])) return static_cast<double>(*whole);
  }
  return fail("{}: expected a number at {}", config.place(member), i);
}

/// The factors of the rows of ssm_in: gates, inputs, B, C and the steps of time.
Result<std::vector<RowFactor>> factors_of_mamba_input(const JsonObject& config) {
  OCTAVO_TRY(const double all, multiplier(config, "ssm_in_multiplier"));
  OCTAVO_TRY(const std::uint64_t groups, config.size("mamba_n_groups"));
  OCTAVO_TRY(const std::uint64_t state, config.size("mamba_d_state"));
  OCTAVO_TRY(const std::uint64_t heads, config.size("mamba_n_heads"));
  OCTAVO_TRY(const auto given, config.size_if("mamba_d_ssm"));
  OCTAVO_TRY(const auto head, config.size_if("mamba_d_head"));
  const std::uint64_t inner = given.value_or(heads * head.value_or(0)), states = groups * state;
  std::vector<RowFactor> factors;
  for (const std::uint64_t rows : {inner, inner, states, states, heads}) {
    OCTAVO_TRY(const double part, multiplier(config, "ssm_multipliers", factors.size()));
    factors.push_back({rows, static_cast<float>(all * part)});
  }
  return factors;
}

}  // namespace

Result<std::vector<RowFactor>> falcon_h1_row_factors(const JsonObject& config, std::string_view name) {
  struct Whole {
    std::string_view ending, member, other = {};
  };
  constexpr Whole kWhole[] = {
      {"attn_q.weight", "attention_in_multiplier"}, {"attn_k.weight", "attention_in_multiplier", "key_multiplier"},
      {"attn_v.weight", "attention_in_multiplier"}, {"attn_output.weight", "attention_out_multiplier"},
      {"ssm_out.weight", "ssm_out_multiplier"},     {"token_embd.weight", "embedding_multiplier"}};
  const auto of_all_rows = [](double factor) {
    return std::vector{RowFactor{std::numeric_limits<std::uint64_t>::max(), static_cast<float>(factor)}};
  };
  for (const auto& [ending, member, other] : kWhole) {
    if (!name.ends_with(ending)) continue;
    OCTAVO_TRY(const double first, multiplier(config, member));
    OCTAVO_TRY(const double second, other.empty() ? Result<double>(1) : multiplier(config, other));
    return of_all_rows(first * second);
  }
  if (name == "output.weight") {
    OCTAVO_TRY(const double factor, multiplier(config, "lm_head_multiplier"));
    return of_all_rows(factor);
  }
  if (name.ends_with("ffn_gate.weight") || name.ends_with("ffn_down.weight")) {
    OCTAVO_TRY(const double factor, multiplier(config, "mlp_multipliers", name.ends_with("ffn_down.weight") ? 1 : 0));
    return of_all_rows(factor);
  }
  if (name.ends_with("ssm_in.weight")) return factors_of_mamba_input(config);
  return std::vector<RowFactor>();
}

}  // namespace octavo
