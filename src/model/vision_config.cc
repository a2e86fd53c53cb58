#include "model/vision_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/joined.h"
#include "base/text.h"
#include "kernels/kernels.h"
#include "model/architectures/model_keys.h"
#include "model/vision_readers.h"
#include "source/shard_name.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

constexpr int kMostWidth = 1 << 15, kMostTextWidth = 1 << 18, kMostMergeSide = 8;
constexpr int kMostTiles = 10;  // along a side

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

}  // namespace

Result<void> read_patches(const ModelKeys& keys, std::string_view merge_key, std::optional<int> merge_side,
                          VisionConfig& config) {
  OCTAVO_TRY(config.patch_side, keys.size("patch_size", kMostPatchSide));
  if (keys.has(merge_key) || !merge_side) {
    OCTAVO_TRY(config.merge_side, keys.size(merge_key, kMostMergeSide));
  } else {
    config.merge_side = *merge_side;
  }
  OCTAVO_TRY(config.mean, read_channels(keys, "image_mean", false));
  OCTAVO_TRY(config.deviation, read_channels(keys, "image_std", true));
  OCTAVO_TRY(config.min_tokens, read_tokens(keys, config, "image_min_pixels"));
  OCTAVO_TRY(config.max_tokens, read_tokens(keys, config, "image_max_pixels"));
  return {};
}

namespace {

/// Reads the side of the square of learned positions.
Result<void> read_square(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY(const int image_side, keys.size("image_size", kMostImageSide));
  if (image_side % config.patch_side != 0)
    return fail("{}: {} is {}, expected a multiple of {}, which is {}", keys.path(), keys.key("image_size"), image_side,
                keys.key("patch_size"), config.patch_side);
  config.grid_side = image_side / config.patch_side;
  return {};
}

}  // namespace

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

namespace {

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

}  // namespace

Result<void> read_layers(const ModelKeys& keys, const LayerSpec& layer, VisionConfig& config) {
  OCTAVO_TRY(const int num_layers, keys.size("block_count", kMostLayers));
  config.layers.assign(to_size(num_layers), layer);
  return {};
}

Result<int> read_result_width(const ModelKeys& keys, std::string_view stem) {
  const std::string name = std::string(stem) + ".weight";
  const SourceTensor* tensor = keys.source().find_tensor(name);
  if (tensor == nullptr) return fail("{}: no tensor {}", keys.path(), name);
  if (tensor->tensor.rows < 1 || tensor->tensor.rows > kMostFfn)
    return fail("{}: tensor {} has {} rows, expected 1 to {}", keys.path(), name, tensor->tensor.rows, kMostFfn);
  return static_cast<int>(tensor->tensor.rows);
}

Result<bool> read_flag(const ModelKeys& keys, std::string_view name, bool otherwise) {
  if (keys.source().find(name) == nullptr) return otherwise;
  return keys.source().get_bool(name);
}

Result<void> expect_no_silu(const ModelKeys& keys, const VisionConfig& config) {
  OCTAVO_TRY(const bool silu, read_flag(keys, vision_names::kUseSilu, false));
  if (silu) return fail("{}: {} is true, expected false of {}", keys.path(), vision_names::kUseSilu, config.family);
  return {};
}

namespace {

/// Reads the encoder of Qwen3-VL, Qwen 3.5 and later models.
Result<void> read_qwen3vl_merger(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY_VOID(read_patches(keys, "spatial_merge_size", {}, config));
  OCTAVO_TRY_VOID(read_square(keys, config));
  OCTAVO_TRY(const LayerSpec layer, read_layer(keys, config));
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  OCTAVO_TRY_VOID(expect_no_silu(keys, config));
  config.merger = {.patch_norm = vision_names::kPostNorm,
                   .hidden_width = config.merged_width(),
                   .up = vision_names::kMergerUp,
                   .down = vision_names::kMergerDown};
  return read_deepstack(keys, config);
}

/// Reads the places of the tables by the tensor: one table behind the other.
Result<void> read_tables(const ModelKeys& keys, VisionConfig& config) {
  config.places = LearnedPlaces::kTables;
  const SourceTensor* tensor = keys.source().find_tensor(vision_names::kPositions);
  const std::int64_t rows = tensor == nullptr ? 0 : tensor->tensor.rows;
  if (rows < 2 || rows % 2 != 0 || rows / 2 > kMostImageSide)
    return fail("{}: tensor {} has {} rows, expected two tables of as many places, up to {} each", keys.path(),
                vision_names::kPositions, rows, kMostImageSide);
  config.grid_side = static_cast<int>(rows / 2);
  config.most_tokens = config.grid_side / config.merge_side;  // all of them may lie along one side
  if (config.most_tokens < 1)
    return fail("{}: tensor {} has {} places for a side, expected {} for a token", keys.path(),
                vision_names::kPositions, config.grid_side, config.merge_side);
  return {};
}

/// Reads the encoder of Gemma 4 12B (Gemma Team, 2026), as in transformers,
/// models/gemma4_unified/modeling_gemma4_unified.py: without layers. Files have the sides of the smaller patches that
/// the other models of Gemma 4 join; here all pixels of a token are one patch.
Result<void> read_gemma4uv(const ModelKeys& keys, VisionConfig& config) {
  constexpr int kMerge = 3;
  constexpr float kEpsilon = 1e-5F;  // the default of PyTorch's LayerNorm
  OCTAVO_TRY_VOID(read_patches(keys, kScaleFactor, kMerge, config));
  config.patch_side = config.token_side();
  config.merge_side = 1;
  if (config.patch_side > kMostPatchSide)
    return fail("{}: {} and {} make tokens of {} pixels a side, expected at most {}", keys.path(),
                keys.key("patch_size"), keys.key(kScaleFactor), config.patch_side, kMostPatchSide);
  OCTAVO_TRY_VOID(read_tables(keys, config));
  config.turns = PatchTurns::kNone;
  config.has_patch_rows = true;
  config.patch_norms = {.pixels = vision_names::kPixelNorm,
                        .product = vision_names::kProductNorm,
                        .placed = vision_names::kPlacedNorm,
                        .epsilon = kEpsilon};
  config.merger = {.norms_plainly = true, .down = vision_names::kProjection};
  return {};
}

/// Reads the encoder of Gemma 4 (Gemma Team, 2026), as in transformers, models/gemma4/modeling_gemma4.py.
Result<void> read_gemma4v(const ModelKeys& keys, VisionConfig& config) {
  constexpr int kMerge = 3;
  OCTAVO_TRY_VOID(read_patches(keys, "projector.scale_factor", kMerge, config));
  OCTAVO_TRY_VOID(read_tables(keys, config));
  for (std::size_t channel = 0; channel < config.mean.size(); ++channel) {  // the encoder reads 2 x - 1
    config.deviation[channel] /= 2;
    config.mean[channel] += config.deviation[channel];
  }
  config.norm = NormKind::kRms;
  config.turns = PatchTurns::kHalfHeads;
  OCTAVO_TRY(LayerSpec layer, read_layer(keys, config));
  layer.post_norms = true;
  AttentionSpec& attention = *layer.attention();
  attention.scale = 1;
  attention.qk_norm = Presence::kRequired;
  attention.v_norm = true;
  attention.rope.base = 100;
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.is_gated = true;
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  const std::string clamped = vision_names::of_layer(0, vision_names::kQ) + std::string(vision_names::kInputMin);
  config.clamps = keys.source().find_tensor(clamped) != nullptr;
  config.merger = {.join = PatchJoin::kMean,
                   .norms_plainly = true,
                   .standardizes = keys.source().find_tensor(vision_names::kStandardBias) != nullptr,
                   .down = vision_names::kProjection};
  return {};
}

}  // namespace

Result<LayerSpec> read_unturned_layer(const ModelKeys& keys, VisionConfig& config) {
  config.turns = PatchTurns::kNone;
  OCTAVO_TRY(LayerSpec layer, read_layer(keys, config));
  layer.attention()->rope.num_rotated = 0;
  return layer;
}

namespace {

/// Finds out whether a file, as old ones have it, has the names of a feed-forward's products exchanged.
void find_exchanged_ffn(const ModelKeys& keys, VisionConfig& config) {
  const SourceTensor* down = keys.source().find_tensor(vision_names::of_layer(0, vision_names::kDown) + ".weight");
  config.swaps_ffn =
      down != nullptr && down->tensor.cols == config.width && config.feed_forward().width != config.width;
}

/// Reads the encoder of Idefics3 and SmolVLM (Marafioti et al., 2025), as in transformers,
/// models/smolvlm/modeling_smolvlm.py: SigLIP for tiles of one size.
Result<void> read_idefics3(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY_VOID(read_patches(keys, kScaleFactor, {}, config));
  OCTAVO_TRY(config.tile_side, keys.size("image_size", kMostTileSide));
  config.grid_side = config.tile_side / config.patch_side;
  if (config.grid_side == 0 || config.grid_side % config.merge_side != 0)
    return fail("{}: {} is {}, {} patches of {}, expected a multiple of {}, which is {}", keys.path(),
                keys.key("image_size"), config.tile_side, config.grid_side, config.patch_side, keys.key(kScaleFactor),
                config.merge_side);
  constexpr std::string_view kLongest = "preproc_image_size";
  OCTAVO_TRY(config.longest_side, keys.size_or(kLongest, config.tile_side));
  if (config.longest_side > std::min(kMostTiles * config.tile_side, kMostTileSide))
    return fail("{}: {} is {}, expected at most {} tiles of {}, and {}", keys.path(), keys.key(kLongest),
                config.longest_side, kMostTiles, config.tile_side, kMostTileSide);
  OCTAVO_TRY(const LayerSpec layer, read_unturned_layer(keys, config));
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  OCTAVO_TRY_VOID(expect_no_silu(keys, config));
  find_exchanged_ffn(keys, config);
  config.merger = {.patch_norm = vision_names::kPostNorm, .down = vision_names::kConnector};
  return {};
}

/// Reads the encoder of Gemma 3 (Gemma Team, 2025), as in transformers, models/gemma3/modeling_gemma3.py: SigLIP for
/// pictures of one size.
Result<void> read_gemma3v(const ModelKeys& keys, VisionConfig& config) {
  constexpr int kMerge = 4, kMostTokens = 4096;
  OCTAVO_TRY_VOID(read_patches(keys, kScaleFactor, kMerge, config));
  OCTAVO_TRY_VOID(read_square(keys, config));
  config.tile_side = config.grid_side * config.patch_side;
  const int side = config.grid_side / config.merge_side;
  if (side == 0 || config.grid_side % config.merge_side != 0 || side * side > kMostTokens)
    return fail("{}: {} is {}, {} patches of {}, expected a multiple of {} up to {} tokens", keys.path(),
                keys.key("image_size"), config.tile_side, config.grid_side, config.patch_side, config.merge_side,
                kMostTokens);
  config.most_tokens = side * side;
  OCTAVO_TRY(const LayerSpec layer, read_unturned_layer(keys, config));
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  OCTAVO_TRY_VOID(expect_no_silu(keys, config));
  find_exchanged_ffn(keys, config);
  config.merger = {.join = PatchJoin::kPlainMean,
                   .patch_norm = vision_names::kPostNorm,
                   .joined_norm = vision_names::kJoinedNorm,
                   .joined_kind = NormKind::kRms,
                   .joined_epsilon = config.norm_epsilon,
                   .down = vision_names::kProjection,
                   .down_is_transposed = true};
  return {};
}

/// Reads the encoder of LFM2-VL (Liquid AI, 2025), as in transformers, models/lfm2_vl and models/siglip2.
Result<void> read_lfm2(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY_VOID(read_patches(keys, kScaleFactor, {}, config));
  OCTAVO_TRY_VOID(read_square(keys, config));
  config.places = LearnedPlaces::kSpread;
  OCTAVO_TRY(const LayerSpec layer, read_unturned_layer(keys, config));
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  OCTAVO_TRY_VOID(expect_no_silu(keys, config));
  constexpr float kEpsilon = 1e-5F;
  const bool norms = keys.source().find_tensor(std::string(vision_names::kProjectorNorm) + ".weight") != nullptr;
  OCTAVO_TRY(const int hidden, read_result_width(keys, vision_names::kProjectorUp));
  config.merger = {.patch_norm = vision_names::kPostNorm,
                   .joined_norm = norms ? vision_names::kProjectorNorm : std::string_view(),
                   .joined_epsilon = kEpsilon,
                   .hidden_width = hidden,
                   .up = vision_names::kProjectorUp,
                   .down = vision_names::kMergerDown};
  return {};
}

/// Reads the encoder of Pixtral (Agrawal et al., 2024) and Mistral 3, as in transformers, models/pixtral and
/// models/mistral3.
Result<void> read_pixtral(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY_VOID(read_patches(keys, "spatial_merge_size", 1, config));
  OCTAVO_TRY(config.longest_side, keys.size("image_size", kMostTileSide));
  config.places = LearnedPlaces::kNone;
  config.norm = NormKind::kRms;
  config.patch_norms = {.placed = vision_names::kPreNorm, .epsilon = config.norm_epsilon};
  config.turns = PatchTurns::kNeighbours;
  OCTAVO_TRY(LayerSpec layer, read_layer(keys, config));
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.is_gated = true;
  OCTAVO_TRY(const bool silu, read_flag(keys, vision_names::kUseSilu, true));
  dense.activation = silu ? Activation::kSilu : Activation::kGelu;
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  config.merger = {.join = PatchJoin::kChannels,
                   .hidden_width = config.text_width,
                   .up = vision_names::kProjectorUp,
                   .down = vision_names::kMergerDown};
  const std::string merger = std::string(vision_names::kPatchMerger) + ".weight";
  if (keys.source().find_tensor(merger) != nullptr) {
    config.merger.patch_norm = vision_names::kProjectorNorm;
    config.merger.reduce = vision_names::kPatchMerger;
  } else if (config.merge_side != 1) {
    return fail("{}: no tensor {}, which tokens of {} x {} patches need", keys.path(), merger, config.merge_side,
                config.merge_side);
  }
  return {};
}

struct Family {
  std::string_view name;  // the projector's type
  Result<void> (*read)(const ModelKeys& keys, VisionConfig& config);
};

constexpr Family kFamilies[] = {{"qwen3vl_merger", read_qwen3vl_merger},
                                {"gemma3", read_gemma3v},
                                {"gemma4v", read_gemma4v},
                                {"gemma4uv", read_gemma4uv},
                                {"idefics3", read_idefics3},
                                {"lfm2", read_lfm2},
                                {"pixtral", read_pixtral},
                                {"qwen2vl_merger", read_qwen2vl_merger},
                                {"qwen2.5vl_merger", read_qwen25vl_merger},
                                {"minicpmv4_6", read_minicpmv},
                                {"muse-glimmer", read_muse_glimmer_encoder}};

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

const AttentionSpec& VisionConfig::attention() const {
  static const AttentionSpec none = {.is_causal = false, .rope = {}};
  return layers.empty() ? none : *layers.front().attention();
}

const DenseFfnSpec& VisionConfig::feed_forward() const {
  static const DenseFfnSpec none = {};
  return layers.empty() ? none : std::get<DenseFfnSpec>(layers.front().feed_forward);
}

std::uint64_t VisionConfig::rows_bytes(std::int64_t patches) const {
  return sizeof(float) * to_size(patches) * to_size(width + attention().k_width() + attention().v_width());
}

Result<void> VisionConfig::check_fits(const SeeingModel& model) const {
  if (text_width != model.width)
    return fail("the vision encoder {} makes rows of {} numbers, expected {} as the model has: it belongs to another",
                quote(name), text_width, model.width);
  const int num_more = num_vectors() - 1;
  if (num_more != model.num_deepstack)
    return fail(
        "the vision encoder {} makes {} vectors of a token beside the first, expected {} as the model adds: "
        "it belongs to another",
        quote(name), num_more, model.num_deepstack);
  return {};
}

Result<void> refuse_encoder_file(const ModelSource& source) {
  if (!is_encoder_file(source)) return {};
  return fail("{}: found an encoder of pictures, expected a text model; an encoder goes beside one (--mmproj FILE)",
              source.name());
}

std::string supported_vision_families() { return joined(kFamilies, &Family::name); }

}  // namespace octavo
