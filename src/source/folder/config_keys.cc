#include "source/folder/config_keys.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/ranges.h>

#include "base/text.h"

namespace octavo {
namespace {

Result<std::string_view> rope_type(const JsonObject& rope) {
  if (rope.has("rope_type")) return rope.text("rope_type");
  if (rope.has("type")) return rope.text("type");
  return "default";
}

Result<void> add_yarn_keys(const FamilyKeys& keys, const JsonObject& rope) {
  keys.out.add_text(keys.key("rope.scaling.type"), "yarn");
  OCTAVO_TRY(const double factor, rope.number("factor"));
  keys.out.add_f32(keys.key("rope.scaling.factor"), factor);
  OCTAVO_TRY(const auto original, rope.size_if("original_max_position_embeddings"));
  if (original) keys.out.add_u32(keys.key("rope.scaling.original_context_length"), *original);
  constexpr std::pair<std::string_view, std::string_view> kNumbers[] = {
      {"beta_fast", "rope.scaling.yarn_beta_fast"},
      {"beta_slow", "rope.scaling.yarn_beta_slow"},
      {"attention_factor", "rope.scaling.yarn_attn_factor"}};
  for (const auto& [from, to] : kNumbers) {
    OCTAVO_TRY(const auto number, rope.number_if(from));
    if (number) keys.out.add_f32(keys.key(to), *number);
  }
  // llama.cpp's converter writes a tenth of it for models with a latent.
  OCTAVO_TRY(const auto growth, rope.number_if("mscale_all_dim"));
  const double part = keys.config.has("kv_lora_rank") ? 0.1 : 1;
  if (growth) keys.out.add_f32(keys.key("rope.scaling.yarn_log_multiplier"), part * *growth);
  return {};
}

Result<void> add_scaling_keys(const FamilyKeys& keys, const JsonObject& rope) {
  OCTAVO_TRY(const std::string_view type, rope_type(rope));
  if (type == "default" || type == "llama3" || type == "mrope") return {};  // sections, which text does not tell apart
  if (type == "yarn") return add_yarn_keys(keys, rope);
  if (type != "linear")
    return fail("{} is {}, supported are: default, linear, llama3, yarn", rope.place("rope_type"), quote(type));
  keys.out.add_text(keys.key("rope.scaling.type"), "linear");
  OCTAVO_TRY(const double factor, rope.number("factor"));
  keys.out.add_f32(keys.key("rope.scaling.factor"), factor);
  return {};
}

}  // namespace

Result<void> require_flag(const FamilyKeys& keys, std::string_view name, bool supported) {
  OCTAVO_TRY(const bool found, keys.config.flag_or(name, supported));
  if (found == supported) return {};
  return fail("{} is {}: this is not supported", keys.config.place(name), found);
}

Result<void> require_text(const FamilyKeys& keys, std::string_view name,
                          std::initializer_list<std::string_view> supported) {
  if (!keys.config.has(name)) return {};
  OCTAVO_TRY(const std::string_view found, keys.config.text(name));
  if (std::ranges::find(supported, found) != supported.end()) return {};
  return fail("{} is {}, expected {}", keys.config.place(name), quote(found), *supported.begin());
}

Result<void> require_number(const FamilyKeys& keys, std::string_view name, double supported) {
  OCTAVO_TRY(const auto found, keys.config.number_if(name));
  if (found.value_or(supported) == supported) return {};
  return fail("{} is {}, expected {}: this is not supported", keys.config.place(name), *found, supported);
}

Result<std::uint64_t> number_of_layers(const JsonObject& config, std::string_view name) {
  OCTAVO_TRY(const std::uint64_t count, config.size(name));
  if (count <= kMostLayers) return count;
  return fail("{} is {}, expected at most {}", config.place(name), count, kMostLayers);
}

Result<std::uint64_t> check_head_length(const JsonObject& config, std::string_view name, std::uint64_t length) {
  if (length <= kLongestHead) return length;
  return fail("{}: found heads of {} dimensions, expected at most {}", config.place(name), length, kLongestHead);
}

Result<std::uint64_t> head_length(const JsonObject& config) {
  OCTAVO_TRY(const auto given, config.size_if("head_dim"));
  if (given) return check_head_length(config, "head_dim", *given);
  OCTAVO_TRY(const std::uint64_t width, config.size("hidden_size"));
  OCTAVO_TRY(const std::uint64_t heads, config.size("num_attention_heads"));
  if (heads == 0 || width % heads != 0)
    return fail("{} is missing, and {} is no multiple of the {} heads", config.place("head_dim"), width, heads);
  return check_head_length(config, "hidden_size", width / heads);
}

std::uint64_t rotated_dims(double part, std::uint64_t head) {
  return static_cast<std::uint64_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(head));
}

Result<void> add_named_sizes(const FamilyKeys& keys, std::span<const SizeName> names) {
  for (const auto& [from, to] : names) {
    OCTAVO_TRY(const std::uint64_t size, keys.config.size(from));
    if (size > kMostModelSize)
      return fail("{} is {}, expected at most {}", keys.config.place(from), size, kMostModelSize);
    keys.out.add_u32(keys.key(to), size);
  }
  return {};
}

Result<void> add_sizes(const FamilyKeys& keys, Names activations) {
  constexpr SizeName kHeads[] = {{"num_attention_heads", "attention.head_count"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kHeads));
  return add_sizes_but_heads(keys, activations);
}

Result<void> add_sizes_but_heads(const FamilyKeys& keys, Names activations) {
  constexpr SizeName kSizes[] = {
      {"num_hidden_layers", "block_count"}, {"hidden_size", "embedding_length"}, {"vocab_size", "vocab_size"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kSizes));
  const std::string_view of_layer_norm = keys.config.has("layer_norm_eps") ? "layer_norm_eps" : "norm_epsilon";
  const bool is_layer_norm = !keys.config.has("rms_norm_eps") && keys.config.has(of_layer_norm);
  const std::string_view of_rms_norm = keys.config.has("norm_eps") ? "norm_eps" : "rms_norm_eps";
  OCTAVO_TRY(const double epsilon, keys.config.number(is_layer_norm ? of_layer_norm : of_rms_norm));
  keys.out.add_f32(keys.key(is_layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"),
                   epsilon);
  return require_text(keys, "hidden_act", activations);
}

Result<void> add_common_keys(const FamilyKeys& keys, Names activations) {
  OCTAVO_TRY_VOID(add_sizes(keys, activations));
  return add_equal_parts(keys);
}

Result<void> add_head_sizes(const FamilyKeys& keys) {
  OCTAVO_TRY(const std::uint64_t heads, keys.config.size("num_attention_heads"));
  OCTAVO_TRY(const auto kv_heads, keys.config.size_if("num_key_value_heads"));
  keys.out.add_u32(keys.key("attention.head_count_kv"), kv_heads.value_or(heads));
  OCTAVO_TRY(const std::uint64_t head, head_length(keys.config));
  keys.out.add_u32(keys.key("attention.key_length"), head);
  keys.out.add_u32(keys.key("attention.value_length"), head);
  return {};
}

Result<void> add_equal_parts(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_head_sizes(keys));
  OCTAVO_TRY(const auto ffn, keys.config.size_if("intermediate_size"));
  if (ffn) keys.out.add_u32(keys.key("feed_forward_length"), *ffn);
  return {};
}

Result<void> add_dense_keys(const FamilyKeys& keys) {
  OCTAVO_TRY_VOID(add_common_keys(keys));
  return add_rope_keys(keys);
}

Result<void> add_kv_heads(const FamilyKeys& keys, const std::vector<bool>& attends) {
  OCTAVO_TRY(const std::uint64_t heads, keys.config.size("num_attention_heads"));
  OCTAVO_TRY(const auto given, keys.config.size_if("num_key_value_heads"));
  const std::uint64_t kv_heads = given.value_or(heads);
  if (kv_heads > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.config.place("num_key_value_heads"), kv_heads, kMostModelSize);
  std::vector<std::int32_t> of_layers;
  of_layers.reserve(attends.size());
  for (const bool one : attends) of_layers.push_back(one ? static_cast<std::int32_t>(kv_heads) : 0);
  keys.out.add_i32s(keys.key("attention.head_count_kv"), of_layers);
  return {};
}

Result<void> add_context(const FamilyKeys& keys, std::optional<std::uint64_t> window) {
  OCTAVO_TRY(const std::uint64_t context, keys.config.size("max_position_embeddings"));
  keys.out.add_u32(keys.key("context_length"), std::min(context, window.value_or(context)));
  return {};
}

Result<void> add_window(const FamilyKeys& keys) {
  OCTAVO_TRY(const std::uint64_t window, keys.config.size("sliding_window"));
  keys.out.add_u32(keys.key("attention.sliding_window"), window);
  return {};
}

Result<std::vector<std::string_view>> layer_kinds(const JsonObject& config,
                                                  std::initializer_list<std::string_view> known) {
  const TemplateList* list = config.find_list("layer_types");
  std::vector<std::string_view> kinds;
  if (list == nullptr) return kinds;
  if (list->size() > kMostLayers)
    return fail("{} has {} kinds, expected at most {}", config.place("layer_types"), list->size(), kMostLayers);
  for (const TemplateValue& element : *list) {
    const auto* kind = std::get_if<std::string>(&element);
    if (kind == nullptr || std::ranges::find(known, *kind) == known.end())
      return fail("{}: layer {} is {}, expected {}", config.place("layer_types"), kinds.size(),
                  kind == nullptr ? "no text" : quote(*kind), fmt::join(known, " or "));
    kinds.push_back(*kind);
  }
  OCTAVO_TRY(const std::uint64_t layers, config.size("num_hidden_layers"));
  if (kinds.size() != layers)
    return fail("{} has {} kinds, expected one for each of {} layers", config.place("layer_types"), kinds.size(),
                layers);
  return kinds;
}

Result<void> check_kinds_of_layers(const FamilyKeys& keys, std::uint64_t period) {
  constexpr std::string_view kPattern = "sliding_window_pattern";
  const TemplateValue* pattern = keys.config.has(kPattern) ? keys.config.find(kPattern) : nullptr;
  if (pattern != nullptr && std::holds_alternative<std::string>(*pattern)) {  // "LLLG"
    OCTAVO_TRY_VOID(require_text(keys, kPattern, {std::string(period - 1, 'L') + "G"}));
  } else {
    OCTAVO_TRY(const auto given, keys.config.size_if(kPattern));
    if (given && *given != period) return fail("{} is {}, expected {}", keys.config.place(kPattern), *given, period);
  }
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"full_attention", "sliding_attention"}));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view expected = (i + 1) % period == 0 ? "full_attention" : "sliding_attention";
    if (kinds[i] != expected)
      return fail("{}: layer {} is {}, expected {}", keys.config.place("layer_types"), i, quote(kinds[i]), expected);
  }
  return {};
}

Result<std::optional<JsonObject>> rope_object(const JsonObject& config, std::string_view kind_of_layer) {
  OCTAVO_TRY(auto parameters, config.object_if("rope_parameters"));
  if (!parameters) return config.object_if("rope_scaling");
  if (kind_of_layer.empty() || !parameters->has(kind_of_layer)) return parameters;
  return parameters->object_if(kind_of_layer);
}

Result<std::optional<double>> rope_number(const JsonObject& config, std::string_view name,
                                          std::string_view kind_of_layer) {
  OCTAVO_TRY(const auto rope, rope_object(config, kind_of_layer));
  OCTAVO_TRY(const auto own, rope ? rope->number_if(name) : Result<std::optional<double>>(std::nullopt));
  return own ? Result<std::optional<double>>(own) : config.number_if(name);
}

Result<void> add_angle_keys(const FamilyKeys& keys) {
  OCTAVO_TRY(const auto base, rope_number(keys.config, "rope_theta", "full_attention"));
  if (base) keys.out.add_f32(keys.key("rope.freq_base"), *base);
  OCTAVO_TRY(const auto rope, rope_object(keys.config, "full_attention"));
  return rope ? add_scaling_keys(keys, *rope) : Result<void>{};
}

Result<void> add_rope_keys(const FamilyKeys& keys, double rotated) {
  OCTAVO_TRY_VOID(add_angle_keys(keys));
  OCTAVO_TRY(const std::uint64_t head, head_length(keys.config));
  OCTAVO_TRY(const auto part, rope_number(keys.config, "partial_rotary_factor", "full_attention"));
  keys.out.add_u32(keys.key("rope.dimension_count"), rotated_dims(part.value_or(rotated), head));
  return {};
}

Result<void> add_rope_bases(const FamilyKeys& keys) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {{"full_attention", "rope.freq_base"},
                                                                      {"sliding_attention", "rope.freq_base_swa"}};
  for (const auto& [kind, key] : kKinds) {
    OCTAVO_TRY(const auto rope, rope_object(keys.config, kind));
    if (!rope) return fail("{} is missing", keys.config.place("rope_parameters"));
    OCTAVO_TRY(const double base, rope->number("rope_theta"));
    keys.out.add_f32(keys.key(key), base);
  }
  return {};
}

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
  OCTAVO_TRY(const std::string_view type, rope_type(*rope));
  if (type != "default") return fail("{} is {}, expected default", rope->place(type_name), quote(type));
  OCTAVO_TRY(const auto base, rope->number_if("rope_theta"));
  if (base) keys.out.add_f32(keys.key("rope.freq_base_swa"), *base);
  OCTAVO_TRY(const auto part, rope->number_if("partial_rotary_factor"));
  OCTAVO_TRY(const std::uint64_t head, head_length(keys.config));
  keys.out.add_u32(keys.key("rope.dimension_count_swa"), rotated_dims(part.value_or(1), head));
  return {};
}

Result<void> add_expert_groups(const FamilyKeys& keys) {
  if (!keys.config.has("n_group") && !keys.config.has("topk_group")) return {};
  constexpr SizeName kGroups[] = {{"n_group", "expert_group_count"}, {"topk_group", "expert_group_used_count"}};
  return add_named_sizes(keys, kGroups);
}

Result<void> add_mixture_keys(const FamilyKeys& keys, const MixtureNames& names) {
  const SizeName sizes[] = {{names.num_experts, "expert_count"},
                            {names.num_chosen, "expert_used_count"},
                            {names.width, "expert_feed_forward_length"}};
  return add_named_sizes(keys, sizes);
}

std::string_view name_of_experts(const JsonObject& config) {
  return config.has("num_local_experts") ? "num_local_experts" : "num_experts";
}

// As transformers' modeling_rope_utils.py computes them (_compute_llama3_parameters), and llama.cpp writes them.
Result<std::vector<float>> llama3_factors(const JsonObject& rope, std::optional<double> base, std::uint64_t rotated,
                                          Math math) {
  OCTAVO_TRY(const std::string_view type, rope_type(rope));
  if (type != "llama3") return std::vector<float>();
  OCTAVO_TRY(const double factor, rope.number("factor"));
  OCTAVO_TRY(const double low, rope.number("low_freq_factor"));
  OCTAVO_TRY(const double high, rope.number("high_freq_factor"));
  OCTAVO_TRY(const double original, rope.number("original_max_position_embeddings"));
  if (!base || !(low > 0) || !(high >= low) || !(factor >= 1) || !(original > 0))
    return fail("{}: expected rope_theta, a factor from 1, and a low_freq_factor up to high_freq_factor",
                rope.place("rope_type"));
  std::vector<float> factors;
  for (std::uint64_t i = 0; i < rotated / 2; ++i) {
    const double length =
        2 * std::numbers::pi * math.pow(*base, 2.0 * static_cast<double>(i) / static_cast<double>(rotated));
    const double turns = original / length;  // of this pair within the original context
    const double smooth = turns >= high ? 1 : std::max(0.0, (turns - low) / (high - low));  // Llama 4's are equal
    factors.push_back(static_cast<float>(1 / ((1 - smooth) / factor + smooth)));
  }
  return factors;
}

Result<std::vector<float>> rope_factors(const JsonObject& config, Math math) {
  OCTAVO_TRY(const auto rope, rope_object(config));
  if (!rope) return std::vector<float>();
  OCTAVO_TRY(const auto base, rope_number(config, "rope_theta"));
  OCTAVO_TRY(const std::uint64_t head, head_length(config));
  return llama3_factors(*rope, base, head, math);
}

// A part of the pairs is rotated, at the frequencies that these have in a whole head (transformers,
// modeling_rope_utils.py, "proportional").
Result<std::vector<float>> proportional_rope_factors(const JsonObject& config, std::uint64_t head) {
  constexpr float kStays = 1e30F;  // so large a divisor that a pair is not rotated
  OCTAVO_TRY(const auto rope, rope_object(config, "full_attention"));
  double rotated = 1;
  if (rope) {
    OCTAVO_TRY(const auto part, rope->number_if("partial_rotary_factor"));
    rotated = std::clamp(part.value_or(1), 0.0, 1.0);
  }
  std::vector<float> factors(head / 2, kStays);
  std::fill_n(factors.begin(), static_cast<std::uint64_t>(static_cast<double>(head) * rotated / 2), 1.0F);
  return factors;
}

}  // namespace octavo
