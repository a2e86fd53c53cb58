#include "source/folder/tower_keys.h"

#include <limits>

#include "base/text.h"
#include "source/vision_names.h"

namespace octavo {

std::string vision_key(std::string_view suffix) { return fmt::format("{}.{}", vision_names::kKeys, suffix); }

Result<void> require_word(const JsonObject& vision, std::string_view name, std::string_view expected) {
  if (!vision.has(name)) return {};
  OCTAVO_TRY(const std::string_view found, vision.text(name));
  if (found == expected) return {};
  return fail("{} is {}, expected {}", vision.place(name), quote(found), expected);
}

Result<void> require_rope_base(const JsonObject& vision, double expected) {
  OCTAVO_TRY(const auto rope, vision.object_if("rope_parameters"));
  if (!rope) return {};
  OCTAVO_TRY(const auto base, rope->number_if("rope_theta"));
  if (base.value_or(expected) == expected) return {};
  return fail("{} is {}, expected {}", rope->place("rope_theta"), *base, expected);
}

Result<void> require_size(const JsonObject& vision, std::string_view name, std::uint64_t expected) {
  OCTAVO_TRY(const auto found, vision.size_if(name));
  if (found.value_or(expected) == expected) return {};
  return fail("{} is {}, expected {}", vision.place(name), *found, expected);
}

Result<void> add_pixels(const TowerKeys& keys) {
  if (!keys.processing) return {};
  OCTAVO_TRY(const auto size, keys.processing->object_if("size"));
  struct Bound {
    std::string_view name, in_size, key;
  };
  constexpr Bound kBounds[] = {{"min_pixels", "shortest_edge", "image_min_pixels"},
                               {"max_pixels", "longest_edge", "image_max_pixels"}};
  for (const Bound& bound : kBounds) {
    OCTAVO_TRY(auto pixels, keys.processing->size_if(bound.name));
    if (!pixels && size) {
      OCTAVO_TRY(pixels, size->size_if(bound.in_size));
    }
    if (!pixels) continue;
    if (*pixels > std::numeric_limits<std::int32_t>::max())
      return fail("{} is {} pixels, expected at most {}", keys.processing->place(bound.name), *pixels,
                  std::numeric_limits<std::int32_t>::max());
    keys.out.add_u32(vision_key(bound.key), *pixels);
  }
  return {};
}

Result<void> add_sizes(const TowerKeys& keys, std::span<const SizeName> names) {
  for (const SizeName& name : names) {
    OCTAVO_TRY(const std::uint64_t size, keys.vision.size(name.from));
    if (size > kMostModelSize)
      return fail("{} is {}, expected at most {}", keys.vision.place(name.from), size, kMostModelSize);
    keys.out.add_u32(vision_key(name.to), size);
  }
  return {};
}

Result<void> add_epsilon(const TowerKeys& keys, std::string_view name, double otherwise) {
  OCTAVO_TRY(const auto epsilon, keys.vision.number_if(name));
  keys.out.add_f32(vision_key("attention.layer_norm_epsilon"), epsilon.value_or(otherwise));
  return {};
}

Result<void> add_size_or(const TowerKeys& keys, const JsonObject& from, const SizeName& name, std::uint64_t otherwise) {
  OCTAVO_TRY(const auto size, from.size_if(name.from));
  if (size.value_or(otherwise) > kMostModelSize)
    return fail("{} is {}, expected at most {}", from.place(name.from), *size, kMostModelSize);
  keys.out.add_u32(vision_key(name.to), size.value_or(otherwise));
  return {};
}

Result<void> add_siglip_sizes(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(require_word(keys.vision, "hidden_act", "gelu_pytorch_tanh"));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.vision, {"hidden_size", "embedding_length"}, 1152));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.vision, {"intermediate_size", "feed_forward_length"}, 3072));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.vision, {"num_hidden_layers", "block_count"}, 12));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.vision, {"num_attention_heads", "attention.head_count"}, 16));
  constexpr SizeName kSizes[] = {{"patch_size", "patch_size"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  keys.out.add_flag("clip.use_gelu", true);
  return add_epsilon(keys, "layer_norm_eps", 1e-6);
}

}  // namespace octavo
