// Step 3.5 Flash, under the names of its own code and of transformers 5.
#include <algorithm>

#include "base/text.h"
#include "base/to_size.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr std::string_view kKinds = "layer_types", kWindowed = "sliding_attention", kGlobal = "full_attention";
constexpr double kRotatedOfGlobal = 0.5;  // of a head

/// The first of two names that the config has.
std::string_view name_of(const JsonObject& config, std::string_view first, std::string_view second) {
  return config.has(first) ? first : second;
}

/// A list with an entry for each of `num_layers`, behind which may stand those of layers that predict further tokens.
Result<std::span<const TemplateValue>> of_layers(const JsonObject& config, std::string_view name,
                                                 std::uint64_t num_layers) {
  const TemplateList* list = config.find_list(name);
  if (list != nullptr && list->size() >= num_layers) return std::span(*list).first(num_layers);
  return fail("{} has {} entries, expected one for each of {} layers", config.place(name),
              list == nullptr ? 0 : list->size(), num_layers);
}

Result<std::vector<bool>> windowed_layers(const JsonObject& config) {
  OCTAVO_TRY(const std::uint64_t num_layers, number_of_layers(config));
  OCTAVO_TRY(const auto kinds, of_layers(config, kKinds, num_layers));
  std::vector<bool> is_windowed;
  for (const TemplateValue& kind : kinds) {
    const auto* text = std::get_if<std::string>(&kind);
    if (text == nullptr || (*text != kWindowed && *text != kGlobal))
      return fail("{}: layer {} is {}, expected {} or {}", config.place(kKinds), is_windowed.size(),
                  text == nullptr ? describe_json(kind) : quote(*text), kGlobal, kWindowed);
    is_windowed.push_back(*text == kWindowed);
  }
  return is_windowed;
}

/// Heads of the layers that see all, and of those with a window.
struct HeadCounts {
  std::uint64_t global = 0, windowed = 0;

  std::vector<std::int32_t> of_layers(const std::vector<bool>& is_windowed) const {
    std::vector<std::int32_t> counts;
    counts.reserve(is_windowed.size());
    for (const bool one : is_windowed) counts.push_back(static_cast<std::int32_t>(one ? windowed : global));
    return counts;
  }
};

Result<HeadCounts> head_counts(const JsonObject& config, std::string_view name) {
  HeadCounts counts;
  OCTAVO_TRY(counts.global, config.size(name));
  counts.windowed = counts.global;
  OCTAVO_TRY(const auto other, config.object_if("attention_other_setting"));
  const bool is_of_queries = name == "num_attention_heads";
  OCTAVO_TRY(const auto own, is_of_queries ? config.size_if("num_sliding_attention_heads")
                                           : Result<std::optional<std::uint64_t>>(std::nullopt));
  if (own) {
    counts.windowed = *own;
  } else if (other) {
    OCTAVO_TRY(const auto count, other->size_if(is_of_queries ? "num_attention_heads" : "num_attention_groups"));
    counts.windowed = count.value_or(counts.global);
  }
  if (std::max(counts.global, counts.windowed) > kMostModelSize)
    return fail("{} is {}, expected at most {}", config.place(name), counts.global, kMostModelSize);
  return counts;
}

/// A number of the layers of a kind: rope_parameters has it by kind, or a list by layer under another name; none:
/// neither is there.
Result<std::optional<double>> rotation_of(const JsonObject& config, bool windowed, std::string_view by_kind,
                                          std::string_view by_layer, const std::vector<bool>& is_windowed) {
  OCTAVO_TRY(const auto parameters, config.object_if("rope_parameters"));
  const std::string_view kind = windowed ? kWindowed : kGlobal;
  if (parameters && parameters->has(kind)) {
    OCTAVO_TRY(const auto rope, parameters->object_if(kind));
    return rope->number_if(by_kind);
  }
  if (config.find_list(by_layer) == nullptr) return config.number_if(by_layer);
  OCTAVO_TRY(const auto numbers, of_layers(config, by_layer, is_windowed.size()));
  const auto at = std::ranges::find(is_windowed, windowed);
  if (at == is_windowed.end()) return std::nullopt;
  const TemplateValue& found = numbers[to_size(at - is_windowed.begin())];
  if (const auto* real = std::get_if<double>(&found)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&found)) return static_cast<double>(*whole);
  return fail("{}: found {}, expected a number", config.place(by_layer), describe_json(found));
}

Result<void> add_rotation(const FamilyKeys& keys, const std::vector<bool>& is_windowed) {
  for (const bool windowed : {false, true}) {
    OCTAVO_TRY(const auto base, rotation_of(keys.config, windowed, "rope_theta", "rope_theta", is_windowed));
    if (base) keys.out.add_f32(keys.key(windowed ? "rope.freq_base_swa" : "rope.freq_base"), *base);
    OCTAVO_TRY(const auto part,
               rotation_of(keys.config, windowed, "partial_rotary_factor", "partial_rotary_factors", is_windowed));
    const double expected = windowed ? 1 : kRotatedOfGlobal;
    if (part && *part != expected)
      return fail("{}: {} of a head is rotated in layers of {}, expected {}", keys.config.place("rope_parameters"),
                  *part, windowed ? kWindowed : kGlobal, expected);
  }
  return {};
}

/// Limits of each layer; none is 0, or null.
Result<void> add_limits(const FamilyKeys& keys, std::string_view from, std::string_view to, std::size_t num_layers) {
  if (!keys.config.has(from)) return {};
  OCTAVO_TRY(const auto entries, of_layers(keys.config, from, num_layers));
  std::vector<float> limits;
  for (const TemplateValue& entry : entries) {
    const auto* real = std::get_if<double>(&entry);
    const auto* whole = std::get_if<std::int64_t>(&entry);
    if (real == nullptr && whole == nullptr && !std::holds_alternative<std::monostate>(entry))
      return fail("{}: layer {} has {}, expected a number or null", keys.config.place(from), limits.size(),
                  describe_json(entry));
    limits.push_back(real != nullptr ? static_cast<float>(*real) : whole != nullptr ? static_cast<float>(*whole) : 0);
  }
  keys.out.add_f32s(keys.key(to), limits);
  return {};
}

Result<void> add_router(const FamilyKeys& keys) {
  const JsonObject& config = keys.config;
  OCTAVO_TRY_VOID(
      add_mixture_keys(keys, {name_of(config, "moe_num_experts", "n_routed_experts"),
                              name_of(config, "moe_top_k", "num_experts_per_tok"), "moe_intermediate_size"}));
  const SizeName shared[] = {
      {name_of(config, "share_expert_dim", "share_expert_dims"), "expert_shared_feed_forward_length"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, shared));
  OCTAVO_TRY_VOID(require_text(keys, "moe_router_activation", {"sigmoid"}));
  OCTAVO_TRY(const bool is_normed, config.flag_or("norm_expert_weight", true));
  keys.out.add_flag(keys.key("expert_weights_norm"), is_normed);
  OCTAVO_TRY(const auto scale, config.number_if("moe_router_scaling_factor"));
  keys.out.add_f32(keys.key("expert_weights_scale"), scale.value_or(1));
  return {};
}

}  // namespace

// Layers without a router are dense: no key counts them.
Result<void> add_step35_keys(const FamilyKeys& keys) {
  const JsonObject& config = keys.config;
  constexpr SizeName kSizes[] = {{"num_hidden_layers", "block_count"},
                                 {"hidden_size", "embedding_length"},
                                 {"intermediate_size", "feed_forward_length"},
                                 {"sliding_window", "attention.sliding_window"},
                                 {"vocab_size", "vocab_size"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  OCTAVO_TRY(const double epsilon, config.number("rms_norm_eps"));
  keys.out.add_f32(keys.key("attention.layer_norm_rms_epsilon"), epsilon);
  OCTAVO_TRY_VOID(require_text(keys, "hidden_act", {"silu"}));
  for (const std::string_view name : {"attention_bias", "mlp_bias"}) OCTAVO_TRY_VOID(require_flag(keys, name, false));
  OCTAVO_TRY(const std::vector<bool> is_windowed, windowed_layers(config));
  keys.out.add_flags(keys.key("attention.sliding_window_pattern"), is_windowed);
  OCTAVO_TRY(const HeadCounts heads, head_counts(config, "num_attention_heads"));
  keys.out.add_i32s(keys.key("attention.head_count"), heads.of_layers(is_windowed));
  OCTAVO_TRY(const HeadCounts groups,
             head_counts(config, name_of(config, "num_attention_groups", "num_key_value_heads")));
  keys.out.add_i32s(keys.key("attention.head_count_kv"), groups.of_layers(is_windowed));
  OCTAVO_TRY(const std::uint64_t head, head_length(config));
  for (const char* key : {"attention.key_length", "attention.value_length"}) keys.out.add_u32(keys.key(key), head);
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(add_rotation(keys, is_windowed));
  OCTAVO_TRY_VOID(add_limits(keys, "swiglu_limits", "swiglu_clamp_exp", is_windowed.size()));
  OCTAVO_TRY_VOID(add_limits(keys, "swiglu_limits_shared", "swiglu_clamp_shexp", is_windowed.size()));
  return add_router(keys);
}

/// The divisors of layers that see all, which rotate half of a head; those behind them only fill the list.
Result<std::vector<float>> step35_rope_factors(const JsonObject& config, Math math) {
  OCTAVO_TRY(const auto rope, rope_object(config, kGlobal));
  if (!rope) return std::vector<float>();
  OCTAVO_TRY(const std::vector<bool> is_windowed, windowed_layers(config));
  OCTAVO_TRY(const auto base, rotation_of(config, false, "rope_theta", "rope_theta", is_windowed));
  OCTAVO_TRY(const std::uint64_t head, head_length(config));
  OCTAVO_TRY(std::vector<float> factors, llama3_factors(*rope, base, head / 2, math));
  if (!factors.empty()) factors.resize(head / 2, 1);
  return factors;
}

}  // namespace octavo
