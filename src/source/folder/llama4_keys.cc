// Llama 4, the part that reads text.
#include "base/text.h"
#include "base/to_size.h"
#include "source/folder/config_keys.h"
#include "source/folder/family_keys.h"

namespace octavo {
namespace {

constexpr std::uint64_t kGlobalLayerEvery = 4, kChunk = 8192, kFloorScale = 8192;
constexpr double kScale = 0.1;
constexpr std::string_view kPositions = "no_rope_layers";  // 1 for layers that know positions, 0 for the others

/// The layers that see chunks, which are those that know positions: by a list, or all but each n-th.
Result<std::vector<bool>> chunked_layers(const JsonObject& config, std::uint64_t num_layers) {
  OCTAVO_TRY(const auto given, config.size_if("no_rope_layer_interval"));
  const std::uint64_t interval = given.value_or(kGlobalLayerEvery);
  if (interval == 0) return fail("{} is 0, expected at least 1", config.place("no_rope_layer_interval"));
  std::vector<bool> is_chunked(num_layers);
  for (std::size_t i = 0; i < is_chunked.size(); ++i) is_chunked[i] = (i + 1) % interval != 0;
  const TemplateList* list = config.find_list(kPositions);
  if (list == nullptr || list->empty()) return is_chunked;
  if (list->size() != num_layers)
    return fail("{} has {} numbers, expected one for each of {} layers", config.place(kPositions), list->size(),
                num_layers);
  for (std::size_t i = 0; i < is_chunked.size(); ++i) {
    const auto* number = std::get_if<std::int64_t>(&(*list)[i]);
    if (number == nullptr || (*number != 0 && *number != 1))
      return fail("{}: layer {} is {}, expected 0 or 1", config.place(kPositions), i, describe_json((*list)[i]));
    is_chunked[i] = *number == 1;
  }
  return is_chunked;
}

Result<void> add_chunks(const FamilyKeys& keys, std::uint64_t num_layers) {
  constexpr std::string_view kSize = "attention_chunk_size";
  OCTAVO_TRY(const std::vector<bool> is_chunked, chunked_layers(keys.config, num_layers));
  OCTAVO_TRY(const auto kinds, layer_kinds(keys.config, {"full_attention", "chunked_attention"}));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view expected = is_chunked[i] ? "chunked_attention" : "full_attention";
    if (kinds[i] != expected)
      return fail("{}: layer {} is {}, expected {}", keys.config.place("layer_types"), i, quote(kinds[i]), expected);
  }
  OCTAVO_TRY(const auto size, keys.config.size_if(kSize));
  if (size.value_or(kChunk) == 0 || size.value_or(kChunk) > kMostModelSize)
    return fail("{} is {}, expected 1 to {}", keys.config.place(kSize), *size, kMostModelSize);
  keys.out.add_u32(keys.key("attention.chunk_size"), size.value_or(kChunk));
  keys.out.add_flags(keys.key("attention.sliding_window_pattern"), is_chunked);
  return {};
}

/// The first files say by a number whether scores grow, others by a flag.
Result<void> add_temperature(const FamilyKeys& keys) {
  constexpr std::string_view kGrows = "attn_temperature_tuning", kFloor = "floor_scale";
  OCTAVO_TRY(const auto scale, keys.config.number_if("attn_scale"));
  OCTAVO_TRY(const auto floor, keys.config.size_if(kFloor));
  if (floor.value_or(kFloorScale) == 0 || floor.value_or(kFloorScale) > kMostModelSize)
    return fail("{} is {}, expected 1 to {}", keys.config.place(kFloor), *floor, kMostModelSize);
  const TemplateValue* grows = keys.config.has(kGrows) ? keys.config.find(kGrows) : nullptr;
  const auto* number = grows == nullptr ? nullptr : std::get_if<std::int64_t>(grows);
  bool is_growing = number == nullptr || *number != 0;
  if (number == nullptr) {
    OCTAVO_TRY(is_growing, keys.config.flag_or(kGrows, true));
  }
  keys.out.add_f32(keys.key("attention.temperature_scale"), is_growing ? scale.value_or(kScale) : 0);
  keys.out.add_u32(keys.key("attention.temperature_length"), floor.value_or(kFloorScale));
  return {};
}

/// Where there is a list of the mixtures, it has each n-th layer.
Result<void> add_mixtures(const FamilyKeys& keys, std::uint64_t num_layers) {
  constexpr std::string_view kStep = "interleave_moe_layer_step", kMixtures = "moe_layers";
  OCTAVO_TRY(const auto given, keys.config.size_if(kStep));
  const std::uint64_t step = given.value_or(1);
  if (step == 0 || step > kMostLayers)
    return fail("{} is {}, expected 1 to {}", keys.config.place(kStep), step, kMostLayers);
  keys.out.add_u32(keys.key(kStep), step);
  const TemplateList* list = keys.config.find_list(kMixtures);
  if (list == nullptr || list->empty()) return {};
  bool is_each_nth = list->size() == num_layers / step;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* layer = std::get_if<std::int64_t>(&(*list)[i]);
    is_each_nth = is_each_nth && layer != nullptr && *layer == static_cast<std::int64_t>((i + 1) * step - 1);
  }
  if (is_each_nth) return {};
  return fail("{}: other layers than each {}th, which {} says, are not supported", keys.config.place(kMixtures), step,
              kStep);
}

}  // namespace

Result<void> add_llama4_keys(const FamilyKeys& keys) {
  OCTAVO_TRY(const std::uint64_t num_layers, number_of_layers(keys.config));
  OCTAVO_TRY_VOID(add_sizes(keys));
  OCTAVO_TRY_VOID(add_head_sizes(keys));
  OCTAVO_TRY_VOID(add_rope_keys(keys));
  OCTAVO_TRY_VOID(add_context(keys));
  OCTAVO_TRY_VOID(require_flag(keys, "attention_bias", false));
  constexpr SizeName kWidth[] = {{"intermediate_size_mlp", "feed_forward_length"}};  // of layers without a mixture
  OCTAVO_TRY_VOID(add_named_sizes(keys, kWidth));
  OCTAVO_TRY_VOID(add_mixture_keys(keys, {"num_local_experts", "num_experts_per_tok", "intermediate_size"}));
  OCTAVO_TRY_VOID(add_mixtures(keys, num_layers));
  OCTAVO_TRY_VOID(add_chunks(keys, num_layers));
  OCTAVO_TRY_VOID(add_temperature(keys));
  OCTAVO_TRY(const bool norms_heads, keys.config.flag_or("use_qk_norm", true));
  keys.out.add_flag(keys.key("use_qk_norm"), norms_heads);
  return {};
}

}  // namespace octavo
