#include "model/vision_config.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "kernels/kernels.h"
#include "model/architectures/model_keys.h"
#include "source/shard_name.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

// Bounds far above those of any encoder, which keep every product of sizes, and scratch for some rows, small.
constexpr int kMostWidth = 1 << 15, kMostFfn = 1 << 17, kMostTextWidth = 1 << 18;
constexpr int kMostPatchSide = 64, kMostMergeSide = 8, kMostImageSide = 1 << 16, kMostLayers = 1024;

Result<std::array<float, 3>> read_channels(const ModelKeys& keys, std::string_view suffix, bool above_zero) {
  OCTAVO_TRY(const std::vector<float> numbers, keys.source().get_f32_array(keys.key(suffix)));
  std::array<float, 3> channels = {};
  if (numbers.size() != channels.size())
    return fail("{}: {} has {} numbers, expected 3", keys.path(), keys.key(suffix), numbers.size());
  for (const float number : numbers)
    if (!std::isfinite(number) || (above_zero && number <= 0))
      return fail("{}: {} has {}, expected {}numbers", keys.path(), keys.key(suffix), number,
                  above_zero ? "positive " : "finite ");
  std::ranges::copy(numbers, channels.begin());
  return channels;
}

/// Reads a number of pixels as the number of tokens that cover them; 0 where the file has no such key.
Result<int> read_tokens(const ModelKeys& keys, const VisionConfig& config, std::string_view suffix) {
  if (!keys.has(suffix)) return 0;
  OCTAVO_TRY(const int pixels, keys.size(suffix, std::numeric_limits<int>::max()));
  return std::max(1, pixels / (config.token_side() * config.token_side()));
}

/// Reads the patches of a picture, and the square of learned positions.
Result<void> read_patches(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY(config.patch_side, keys.size("patch_size", kMostPatchSide));
  OCTAVO_TRY(config.merge_side, keys.size("spatial_merge_size", kMostMergeSide));
  OCTAVO_TRY(const int image_side, keys.size("image_size", kMostImageSide));
  if (image_side % config.patch_side != 0)
    return fail("{}: {} is {}, expected a multiple of {}, which is {}", keys.path(), keys.key("image_size"), image_side,
                keys.key("patch_size"), config.patch_side);
  config.grid_side = image_side / config.patch_side;
  OCTAVO_TRY(config.mean, read_channels(keys, "image_mean", false));
  OCTAVO_TRY(config.deviation, read_channels(keys, "image_std", true));
  OCTAVO_TRY(config.min_tokens, read_tokens(keys, config, "image_min_pixels"));
  OCTAVO_TRY(config.max_tokens, read_tokens(keys, config, "image_max_pixels"));
  return {};
}

/// Reads the layer of an encoder, whose rows are rotated by two coordinates, half of the frequencies by each.
Result<LayerSpec> read_layer(const ModelKeys& keys, const VisionConfig& config) {
  AttentionSpec attention{
      .is_causal = false, .rope = {}, .qkv_bias = Presence::kOptional, .output_bias = Presence::kOptional};
  OCTAVO_TRY(attention.num_heads, keys.size("attention.head_count", config.width));
  OCTAVO_TRY(attention.num_kv_heads, keys.size_or("attention.head_count_kv", attention.num_heads));
  if (attention.num_heads % attention.num_kv_heads != 0)
    return fail("{}: {} is {}, not a multiple of {}, which is {}", keys.path(), keys.key("attention.head_count"),
                attention.num_heads, keys.key("attention.head_count_kv"), attention.num_kv_heads);
  constexpr std::string_view kHeadDim = "attention.head_dim";
  if (!keys.has(kHeadDim) && config.width % attention.num_heads != 0)
    return fail("{}: {} is {}, expected a multiple of {}, which is {}", keys.path(), keys.key("embedding_length"),
                config.width, keys.key("attention.head_count"), attention.num_heads);
  OCTAVO_TRY(attention.head_dim, keys.size_or(kHeadDim, config.width / attention.num_heads));
  if (attention.head_dim % 4 != 0 || attention.head_dim > kMaxHeadDim)
    return fail("{}: heads have {} dimensions, expected a multiple of 4 up to {}", keys.path(), attention.head_dim,
                kMaxHeadDim);
  if (attention.q_width() > kMostFfn)
    return fail("{}: {} heads of {} dimensions are wider than {}", keys.path(), attention.num_heads, attention.head_dim,
                kMostFfn);
  attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.head_dim));
  attention.rope.num_rotated = attention.head_dim;
  DenseFfnSpec dense{
      .activation = Activation::kGeluTanh, .biases = Presence::kOptional, .has_factors = false, .is_gated = false};
  OCTAVO_TRY(dense.width, keys.size("feed_forward_length", kMostFfn));
  return LayerSpec{.mixer = attention, .feed_forward = dense};
}

/// Reads the layers of DeepStack by a key, or by their tensors in files without the key.
Result<void> read_deepstack(const ModelKeys& keys, VisionConfig& config) {
  constexpr std::string_view kFlags = "is_deepstack_layers";
  std::vector<bool> has_merger(config.layers.size());
  if (keys.has(kFlags)) {
    OCTAVO_TRY(has_merger, keys.flags(kFlags, config.num_layers()));
  } else {
    for (int layer = 0; layer < config.num_layers(); ++layer)
      has_merger[to_size(layer)] =
          keys.source().find_tensor(vision_names::of_deepstack(layer, vision_names::kDeepstackUp) + ".weight") !=
          nullptr;
  }
  for (int layer = 0; layer < config.num_layers(); ++layer)
    if (has_merger[to_size(layer)]) config.deepstack_layers.push_back(layer);
  if (std::int64_t{config.num_vectors()} * config.text_width > kMaxModelSize)
    return fail("{}: {} vectors of {} numbers a token are over {}", keys.path(), config.num_vectors(),
                config.text_width, kMaxModelSize);
  return {};
}

/// Reads the merger of Qwen3-VL, Qwen 3.5 and later models.
Result<void> read_qwen3vl_merger(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY_VOID(read_patches(keys, config));
  OCTAVO_TRY(const LayerSpec layer, read_layer(keys, config));
  OCTAVO_TRY(const int num_layers, keys.size("block_count", kMostLayers));
  config.layers.assign(to_size(num_layers), layer);
  if (keys.source().find(vision_names::kUseSilu) != nullptr) {
    OCTAVO_TRY(const bool silu, keys.source().get_bool(vision_names::kUseSilu));
    if (silu) return fail("{}: {} is true, expected false of {}", keys.path(), vision_names::kUseSilu, config.family);
  }
  return read_deepstack(keys, config);
}

struct Family {
  std::string_view name;  // the projector's type
  Result<void> (*read)(const ModelKeys& keys, VisionConfig& config);
};

constexpr Family kFamilies[] = {{"qwen3vl_merger", read_qwen3vl_merger}};

/// Reads the family of the encoder of pictures: a file that has one of sound too names both.
Result<std::string_view> read_family(const ModelSource& source) {
  if (source.find(vision_names::kFamily) != nullptr) return source.get_string(vision_names::kFamily);
  if (source.find(vision_names::kFamilyBesideSound) != nullptr)
    return source.get_string(vision_names::kFamilyBesideSound);
  return fail("{}: {} is missing, expected the family of a vision encoder: {}", source.name(), vision_names::kFamily,
              supported_vision_families());
}

}  // namespace

bool is_encoder_file(const ModelSource& source) {
  const Result<std::string_view> architecture = source.get_string("general.architecture");
  return architecture && *architecture == vision_names::kArchitecture;
}

Result<VisionConfig> VisionConfig::load(const ModelSource& source) {
  OCTAVO_TRY(const std::string_view architecture, source.get_string("general.architecture"));
  if (architecture != vision_names::kArchitecture)
    return fail("{}: general.architecture is {}, expected {}: it is no vision encoder", source.name(),
                quote(architecture), vision_names::kArchitecture);
  OCTAVO_TRY(const bool sees, source.get_bool(vision_names::kHasVision));
  if (!sees) return fail("{}: {} is false: it encodes no pictures", source.name(), vision_names::kHasVision);
  OCTAVO_TRY(const std::string_view name, read_family(source));
  const auto* const family = std::ranges::find(kFamilies, name, &Family::name);
  if (family == std::ranges::end(kFamilies))
    return fail("{}: vision encoders of the family {} are not supported; supported are: {}", source.name(), quote(name),
                supported_vision_families());
  VisionConfig config;
  config.family = name;
  config.name = printable(model_stem(source.path()));
  if (source.find("general.name") != nullptr) {
    OCTAVO_TRY(const std::string_view given, source.get_string("general.name"));
    config.name = printable(given);
  }
  const ModelKeys keys(source, vision_names::kKeys);
  OCTAVO_TRY(config.width, keys.size("embedding_length", kMostWidth));
  OCTAVO_TRY(config.text_width, keys.size("projection_dim", kMostTextWidth));
  OCTAVO_TRY(const double epsilon, keys.positive("attention.layer_norm_epsilon"));
  config.norm_epsilon = static_cast<float>(epsilon);
  OCTAVO_TRY_VOID(family->read(keys, config));
  return config;
}

std::uint64_t VisionConfig::rows_bytes(std::int64_t patches) const {
  const AttentionSpec& attention = *layers.front().attention();
  return sizeof(float) * to_size(patches) * to_size(width + attention.k_width() + attention.v_width());
}

Result<void> VisionConfig::check_fits(int model_width, int num_deepstack) const {
  if (text_width != model_width)
    return fail("the vision encoder {} makes rows of {} numbers, expected {} as the model has: it belongs to another",
                quote(name), text_width, model_width);
  const int num_more = num_vectors() - 1;
  if (num_more != num_deepstack)
    return fail(
        "the vision encoder {} makes {} vectors of a token beside the first, expected {} as the model adds: "
        "it belongs to another",
        quote(name), num_more, num_deepstack);
  return {};
}

Result<void> refuse_encoder_file(const ModelSource& source) {
  if (!is_encoder_file(source)) return {};
  return fail("{}: found an encoder of pictures, expected a text model; an encoder goes beside one (--mmproj FILE)",
              source.name());
}

std::string supported_vision_families() {
  std::string names;
  for (const Family& family : kFamilies) names += (names.empty() ? "" : ", ") + std::string(family.name);
  return names;
}

}  // namespace octavo
