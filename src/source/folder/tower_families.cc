#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "source/folder/config_keys.h"
#include "source/folder/tower.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

constexpr std::string_view kDeepstackIndexes = "deepstack_visual_indexes";

std::string vision_key(std::string_view suffix) { return fmt::format("{}.{}", vision_names::kKeys, suffix); }

constexpr std::string_view kQwenPrefixes[] = {"model.visual.", "visual."};
constexpr TensorName kQwenWholeNames[] = {
    {"patch_embed.proj.weight", "v.patch_embd.weight", TensorForm::kFrames},
    {"patch_embed.proj.bias", "v.patch_embd.bias"},
    {"pos_embed.weight", "v.position_embd.weight", TensorForm::kNumbers},
    {"merger.norm.weight", "v.post_ln.weight"},
    {"merger.norm.bias", "v.post_ln.bias"},
    {"merger.linear_fc1.weight", "mm.0.weight"},
    {"merger.linear_fc1.bias", "mm.0.bias"},
    {"merger.linear_fc2.weight", "mm.2.weight"},
    {"merger.linear_fc2.bias", "mm.2.bias"},
};
constexpr TensorName kQwenLayerNames[] = {
    {"norm1", vision_names::kMixerNorm},
    {"norm2", vision_names::kFfnNorm},
    {"attn.qkv", vision_names::kQkv},
    {"attn.q_proj", vision_names::kQ},
    {"attn.k_proj", vision_names::kK},
    {"attn.v_proj", vision_names::kV},
    {"attn.proj", vision_names::kAttentionOutput},
    {"mlp.linear_fc1", vision_names::kUp},
    {"mlp.linear_fc2", vision_names::kDown},
};
constexpr TensorName kQwenDeepstackNames[] = {
    {"norm", vision_names::kDeepstackNorm},
    {"linear_fc1", vision_names::kDeepstackUp},
    {"linear_fc2", vision_names::kDeepstackDown},
};

/// Checks settings of Qwen's towers for which Octavo computes only one value.
Result<void> check_qwen3vl(const JsonObject& vision) {
  const auto require = [&](std::string_view name, std::uint64_t expected) -> Result<void> {
    OCTAVO_TRY(const auto found, vision.size_if(name));
    if (found.value_or(expected) == expected) return {};
    return fail("{} is {}, expected {}", vision.place(name), *found, expected);
  };
  OCTAVO_TRY_VOID(require("temporal_patch_size", 2));
  OCTAVO_TRY_VOID(require("in_channels", 3));
  if (vision.has("hidden_act")) {
    OCTAVO_TRY(const std::string_view activation, vision.text("hidden_act"));
    if (activation != "gelu_pytorch_tanh")
      return fail("{} is {}, expected gelu_pytorch_tanh", vision.place("hidden_act"), quote(activation));
  }
  OCTAVO_TRY(const auto rope, vision.object_if("rope_parameters"));
  if (!rope) return {};
  constexpr double kBase = 10'000;
  OCTAVO_TRY(const auto base, rope->number_if("rope_theta"));
  if (base.value_or(kBase) != kBase) return fail("{} is {}, expected {}", rope->place("rope_theta"), *base, kBase);
  return {};
}

/// Adds the side in pixels of the square of learned positions.
Result<void> add_image_size(const TowerKeys& keys) {
  constexpr std::string_view kPositions = "num_position_embeddings";
  OCTAVO_TRY(const std::uint64_t positions, keys.vision.size(kPositions));
  OCTAVO_TRY(const std::uint64_t patch_side, keys.vision.size("patch_size"));
  const auto side = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(positions))));
  if (positions == 0 || positions > kMostModelSize || side * side != positions)
    return fail("{} is {}, expected a square number up to {}", keys.vision.place(kPositions), positions,
                kMostModelSize);
  if (patch_side > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.vision.place("patch_size"), patch_side, kMostModelSize);
  keys.out.add_u32(vision_key("image_size"), side * patch_side);
  return {};
}

Result<void> add_channels(const TowerKeys& keys, std::string_view name) {
  std::vector<float> numbers = {0.5F, 0.5F, 0.5F};
  if (const TemplateList* list = keys.processing ? keys.processing->find_list(name) : nullptr) {
    numbers.clear();
    for (const TemplateValue& element : *list) {
      const auto* number = std::get_if<double>(&element);
      const auto* whole = std::get_if<std::int64_t>(&element);
      if (number == nullptr && whole == nullptr)
        return fail("{} has {}, expected numbers", keys.processing->place(name), describe_json(element));
      numbers.push_back(number != nullptr ? static_cast<float>(*number) : static_cast<float>(*whole));
    }
    if (numbers.size() != 3) return fail("{} has {} numbers, expected 3", keys.processing->place(name), numbers.size());
  }
  keys.out.add_f32s(vision_key(name), numbers);
  return {};
}

/// Adds the least and the most pixels of a picture, which have one of two names.
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

Result<void> add_qwen3vl_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(check_qwen3vl(keys.vision));
  constexpr SizeName kSizes[] = {{"hidden_size", "embedding_length"},
                                 {"intermediate_size", "feed_forward_length"},
                                 {"depth", "block_count"},
                                 {"num_heads", "attention.head_count"},
                                 {"patch_size", "patch_size"},
                                 {"spatial_merge_size", "spatial_merge_size"}};
  for (const SizeName& name : kSizes) {
    OCTAVO_TRY(const std::uint64_t size, keys.vision.size(name.from));
    if (size > kMostModelSize)
      return fail("{} is {}, expected at most {}", keys.vision.place(name.from), size, kMostModelSize);
    keys.out.add_u32(vision_key(name.to), size);
  }
  OCTAVO_TRY_VOID(add_image_size(keys));
  constexpr double kEpsilon = 1e-6;  // the epsilon, which no member tells
  keys.out.add_f32(vision_key("attention.layer_norm_epsilon"), kEpsilon);
  keys.out.add_flag("clip.use_gelu", true);
  OCTAVO_TRY(const std::vector<std::uint64_t> mergers, deepstack_layers(keys.vision));
  OCTAVO_TRY(const std::uint64_t num_layers, number_of_layers(keys.vision, "depth"));
  std::vector<bool> flags(num_layers);
  for (const std::uint64_t layer : mergers) flags[layer] = true;
  keys.out.add_flags(vision_key("is_deepstack_layers"), flags);
  return {};
}

constexpr TowerFamily kTowers[] = {{.name = "qwen3vl_merger",
                                    .add_keys = add_qwen3vl_tower,
                                    .prefixes = kQwenPrefixes,
                                    .whole_names = kQwenWholeNames,
                                    .layers = "blocks.",
                                    .layer_names = kQwenLayerNames,
                                    .deepstack = "deepstack_merger_list.",
                                    .deepstack_names = kQwenDeepstackNames}};

}  // namespace

const TowerFamily* find_tower(std::string_view name) {
  const auto* const found = std::ranges::find(kTowers, name, &TowerFamily::name);
  return found == std::end(kTowers) ? nullptr : found;
}

Result<void> add_tower_keys(const TowerFamily& family, const TowerKeys& keys) {
  keys.out.add_text("general.type", "mmproj");
  keys.out.add_flag(vision_names::kHasVision, true);
  keys.out.add_text(vision_names::kFamily, std::string(family.name));
  OCTAVO_TRY(const std::uint64_t text_width, keys.language.size("hidden_size"));
  if (text_width > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.language.place("hidden_size"), text_width, kMostModelSize);
  keys.out.add_u32(vision_key("projection_dim"), text_width);
  OCTAVO_TRY_VOID(add_channels(keys, "image_mean"));
  OCTAVO_TRY_VOID(add_channels(keys, "image_std"));
  OCTAVO_TRY_VOID(add_pixels(keys));
  return family.add_keys(keys);
}

Result<std::vector<std::uint64_t>> deepstack_layers(const JsonObject& vision) {
  std::vector<std::uint64_t> layers;
  const TemplateList* list = vision.find_list(kDeepstackIndexes);
  if (list == nullptr) return layers;
  OCTAVO_TRY(const std::uint64_t num_layers, number_of_layers(vision, "depth"));
  for (const TemplateValue& element : *list) {
    const auto* layer = std::get_if<std::int64_t>(&element);
    if (layer == nullptr || *layer < 0 || static_cast<std::uint64_t>(*layer) >= num_layers ||
        std::ranges::find(layers, static_cast<std::uint64_t>(*layer)) != layers.end())
      return fail("{} has {}, expected different layers below {}", vision.place(kDeepstackIndexes),
                  describe_json(element), num_layers);
    layers.push_back(static_cast<std::uint64_t>(*layer));
  }
  return layers;
}

}  // namespace octavo
