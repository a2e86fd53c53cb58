// LFM2 and LFM3: short convolutions, and layers of attention among them.
#include <algorithm>

#include "base/text.h"
#include "base/to_size.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

/// Whether each layer attends: layer_types, or in earlier files the numbers of those that do.
Result<std::vector<bool>> attending_layers(const JsonObject& config) {
  constexpr std::string_view kNumbers = "full_attn_idxs";
  OCTAVO_TRY(const std::uint64_t num_layers, config.size("num_hidden_layers"));
  if (num_layers == 0 || num_layers > kMostLayers)
    return fail("{} is {}, expected 1 to {}", config.place("num_hidden_layers"), num_layers, kMostLayers);
  OCTAVO_TRY(const auto kinds, layer_kinds(config, {"full_attention", "conv"}));
  std::vector<bool> attends(num_layers, false);
  for (std::size_t i = 0; i < kinds.size(); ++i) attends[i] = kinds[i] == "full_attention";
  if (!kinds.empty()) return attends;
  const TemplateList* numbers = config.find_list(kNumbers);
  if (numbers == nullptr) return fail("{} and {} are missing", config.place("layer_types"), config.place(kNumbers));
  for (const TemplateValue& element : *numbers) {
    const auto* number = std::get_if<std::int64_t>(&element);
    if (number == nullptr || *number < 0 || static_cast<std::uint64_t>(*number) >= num_layers)
      return fail("{}: found {}, expected a layer from 0 to {}", config.place(kNumbers), describe_json(element),
                  num_layers - 1);
    attends[to_size(*number)] = true;
  }
  return attends;
}

/// The width of the feed-forward: two thirds of what the config says, times a factor, rounded up, if it is adjusted.
Result<std::uint64_t> feed_forward_width(const JsonObject& config) {
  const std::string_view name = config.has("block_ff_dim") ? "block_ff_dim" : "intermediate_size";
  OCTAVO_TRY(std::uint64_t width, config.size(name));
  if (width > kMostModelSize) return fail("{} is {}, expected at most {}", config.place(name), width, kMostModelSize);
  OCTAVO_TRY(const bool is_adjusted, config.flag_or("block_auto_adjust_ff_dim", true));
  if (!is_adjusted) return width;
  OCTAVO_TRY(const auto factor, config.number_if("block_ffn_dim_multiplier"));
  OCTAVO_TRY(const auto given, config.size_if("block_multiple_of"));
  const std::uint64_t multiple = given.value_or(256);
  if (!(factor.value_or(1) > 0 && factor.value_or(1) <= 16) || multiple == 0 || multiple > kMostModelSize)
    return fail("{} is {} and {} is {}, expected a factor of 16 at most and a multiple of 1 to {}",
                config.place("block_ffn_dim_multiplier"), factor.value_or(1), config.place("block_multiple_of"),
                multiple, kMostModelSize);
  width = static_cast<std::uint64_t>(factor.value_or(1) * static_cast<double>(2 * width / 3));
  return (width + multiple - 1) / multiple * multiple;
}

/// Error: the layers of a kind are not rotated in this way, or their context is stretched.
Result<void> require_rotation(const JsonObject& config, std::string_view kind, std::string_view expected) {
  OCTAVO_TRY(const auto rope, rope_object(config, kind));
  if (!rope) return {};
  OCTAVO_TRY(const std::string_view type, rope->has("rope_type") ? rope->text("rope_type") : "default");
  OCTAVO_TRY(const auto divisor, rope->number_if("factor"));
  if (type == expected && divisor.value_or(1) == 1) return {};
  return fail("{} is {} with a factor of {}, expected {} with 1", rope->place("rope_type"), quote(type),
              divisor.value_or(1), expected);
}

/// The keys that both have but for the rotation and the width of the feed-forward. `attends`: of each layer.
Result<void> add_lfm_keys(const FamilyKeys& keys, const std::vector<bool>& attends) {
  OCTAVO_TRY_VOID(add_sizes(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "conv_bias", false));
  constexpr SizeName kTaps[] = {{"conv_L_cache", "shortconv.l_cache"}};
  OCTAVO_TRY_VOID(add_named_sizes(keys, kTaps));
  OCTAVO_TRY(const std::uint64_t head, head_length(keys.config));
  keys.out.add_u32(keys.key("attention.key_length"), head);
  keys.out.add_u32(keys.key("attention.value_length"), head);
  return add_kv_heads(keys, attends);
}

}  // namespace

Result<void> add_lfm2_keys(const FamilyKeys& keys) {
  OCTAVO_TRY(const std::vector<bool> attends, attending_layers(keys.config));
  OCTAVO_TRY_VOID(add_lfm_keys(keys, attends));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  OCTAVO_TRY(const std::uint64_t width, feed_forward_width(keys.config));
  keys.out.add_u32(keys.key("feed_forward_length"), width);
  return {};
}

Result<void> add_lfm3_keys(const FamilyKeys& keys) {
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"full_attention", "sliding_attention", "conv"}));
  if (kinds.empty()) return fail("{} is missing", keys.config.place("layer_types"));
  std::vector<bool> attends, is_windowed;
  attends.reserve(kinds.size());
  is_windowed.reserve(kinds.size());
  for (const std::string_view kind : kinds) {
    attends.push_back(kind != "conv");
    is_windowed.push_back(kind == "sliding_attention");
  }
  OCTAVO_TRY_VOID(add_lfm_keys(keys, attends));
  OCTAVO_TRY_VOID(require_flag(keys, "use_sandwich_norm", true));
  OCTAVO_TRY_VOID(require_flag(keys, "use_attention_gate", true));
  OCTAVO_TRY_VOID(require_flag(keys, "attention_bias", false));
  OCTAVO_TRY_VOID(add_window(keys));
  keys.out.add_flags(keys.key("attention.sliding_window_pattern"), is_windowed);
  OCTAVO_TRY_VOID(require_rotation(keys.config, "full_attention", "proportional"));
  OCTAVO_TRY_VOID(require_rotation(keys.config, "sliding_attention", "default"));
  OCTAVO_TRY_VOID(add_rope_bases(keys));
  constexpr SizeName kWidth[] = {{"intermediate_size", "feed_forward_length"}};
  return add_named_sizes(keys, kWidth);
}

Result<std::vector<float>> lfm3_rope_factors(const JsonObject& config, Math /*math*/) {
  OCTAVO_TRY(const std::uint64_t head, head_length(config));
  return proportional_rope_factors(config, head);
}

}  // namespace octavo
