// Encoders some of whose layers attend within windows: Qwen2.5-VL, Muse Glimmer, MiniCPM-V; and Qwen2-VL.
#include <fmt/format.h>

#include <cmath>

#include "model/vision_readers.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

/// Reads the width between the products of layers by the first layer's tensors, which old files call by each other's
/// names.
Result<void> read_ffn_by_tensor(const ModelKeys& keys, VisionConfig& config, DenseFfnSpec& dense) {
  const auto find = [&](std::string_view stem) {
    return keys.source().find_tensor(vision_names::of_layer(0, stem) + ".weight");
  };
  const SourceTensor *up = find(vision_names::kUp), *down = find(vision_names::kDown);
  if (up == nullptr || down == nullptr)
    return fail("{}: no tensor {}.weight", keys.path(),
                vision_names::of_layer(0, up == nullptr ? vision_names::kUp : vision_names::kDown));
  config.swaps_ffn = up->tensor.cols != config.width && down->tensor.cols == config.width;
  const std::int64_t rows = config.swaps_ffn ? down->tensor.rows : up->tensor.rows;
  if (rows < 1 || rows > kMostFfn)
    return fail("{}: tensor {} has {} rows, expected 1 to {}", keys.path(), up->name, rows, kMostFfn);
  dense.width = static_cast<int>(rows);
  return {};
}

/// Reads what the encoders of Qwen2-VL and Qwen2.5-VL share.
Result<LayerSpec> read_qwen2_layer(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY_VOID(read_patches(keys, "spatial_merge_size", 2, config));
  config.places = LearnedPlaces::kNone;
  config.merger = {.patch_norm = vision_names::kPostNorm,
                   .hidden_width = config.merged_width(),
                   .up = vision_names::kMergerUp,
                   .down = vision_names::kMergerDown};
  return read_layer(keys, config);
}

}  // namespace

Result<void> read_qwen2vl_merger(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_qwen2_layer(keys, config));
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  OCTAVO_TRY_VOID(read_ffn_by_tensor(keys, config, dense));
  OCTAVO_TRY(const bool gelu, read_flag(keys, vision_names::kUseGelu, false));
  config.quick_gelu = !gelu;
  OCTAVO_TRY_VOID(expect_no_silu(keys, config));
  return read_layers(keys, layer, config);
}

namespace {

/// Sets which layers attend within windows: all but every `pattern`-th.
void set_windows(int side, int pattern, VisionConfig& config) {
  config.window_side = side;
  config.in_windows.resize(config.layers.size());
  for (int layer = 0; layer < config.num_layers(); ++layer)
    config.in_windows[to_size(layer)] = (layer + 1) % pattern != 0;
}

}  // namespace

Result<void> read_qwen25vl_merger(const ModelKeys& keys, VisionConfig& config) {
  constexpr int kWindowPixels = 112;
  config.norm = NormKind::kRms;
  OCTAVO_TRY(LayerSpec layer, read_qwen2_layer(keys, config));
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.is_gated = true;
  dense.activation = Activation::kSilu;
  OCTAVO_TRY_VOID(read_ffn_by_tensor(keys, config, dense));
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  constexpr std::string_view kPattern = "n_wa_pattern";
  OCTAVO_TRY(const int pattern, keys.size(kPattern, kMostLayers));
  const int tokens = kWindowPixels / config.token_side();  // along a window's side
  if (tokens == 0)
    return fail("{}: tokens have {} pixels a side, expected at most {}, which a window has", keys.path(),
                config.token_side(), kWindowPixels);
  set_windows(tokens * config.merge_side, pattern, config);
  return {};
}

namespace {

/// Reads the side of the square of learned places by their tensor.
Result<int> read_square_side(const ModelKeys& keys, int most) {
  const SourceTensor* positions = keys.source().find_tensor(vision_names::kPositions);
  const std::int64_t places = positions == nullptr ? 0 : positions->tensor.rows;
  const std::int64_t side = std::llround(std::sqrt(static_cast<double>(places)));
  if (places < 1 || side * side != places || side > most)
    return fail("{}: tensor {} has {} rows, expected a square number up to {} x {}", keys.path(),
                vision_names::kPositions, places, most, most);
  return static_cast<int>(side);
}

/// Reads where rows are joined.
Result<void> read_row_join(const ModelKeys& keys, VisionConfig& config) {
  constexpr std::string_view kJoin = "wa_layer_indexes";
  OCTAVO_TRY(const std::vector<std::int32_t> layers, keys.source().get_i32_array(keys.key(kJoin)));
  if (layers.empty() || layers[0] < 0 || layers[0] >= config.num_layers())
    return fail("{}: {} has {}, expected a layer below {}", keys.path(), keys.key(kJoin),
                layers.empty() ? "nothing" : std::to_string(layers[0]), config.num_layers());
  config.row_join.behind = layers[0];
  const std::string up = fmt::format("{}{}", vision_names::kRowJoin, vision_names::kRowJoinUp);
  OCTAVO_TRY(config.row_join.hidden_width, read_result_width(keys, up));
  return {};
}

}  // namespace

Result<void> read_minicpmv(const ModelKeys& keys, VisionConfig& config) {
  OCTAVO_TRY_VOID(read_patches(keys, kScaleFactor, 4, config));
  if (config.merge_side != 2 && config.merge_side != 4)
    return fail("{}: {} is {}, expected 2 or 4", keys.path(), keys.key(kScaleFactor), config.merge_side);
  OCTAVO_TRY(config.tile_side, keys.size("image_size", kMostTileSide));
  if (config.tile_side < config.token_side())
    return fail("{}: {} is {}, expected at least a token's {}", keys.path(), keys.key("image_size"), config.tile_side,
                config.token_side());
  config.places = LearnedPlaces::kBuckets;
  OCTAVO_TRY(config.grid_side, read_square_side(keys, kMostImageSide));
  OCTAVO_TRY(LayerSpec layer, read_unturned_layer(keys, config));
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  OCTAVO_TRY_VOID(read_ffn_by_tensor(keys, config, dense));
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  OCTAVO_TRY_VOID(expect_no_silu(keys, config));
  if (config.merge_side == 4) OCTAVO_TRY_VOID(read_row_join(keys, config));
  constexpr float kEpsilon = 1e-6F;
  config.merger = {.patch_norm = vision_names::kPostNorm,
                   .joined_norm = vision_names::kProjectorNorm,
                   .joined_epsilon = kEpsilon,
                   .hidden_width = config.merged_width(),
                   .up = vision_names::kFinalUp,
                   .down = vision_names::kFinalDown};
  return {};
}

Result<void> read_muse_glimmer_encoder(const ModelKeys& keys, VisionConfig& config) {
  constexpr int kPattern = 4;
  OCTAVO_TRY_VOID(read_patches(keys, "spatial_merge_size", 2, config));
  OCTAVO_TRY(const int image_side, keys.size("image_size", kMostImageSide));
  OCTAVO_TRY(config.grid_side, read_square_side(keys, image_side));
  if (config.grid_side % config.merge_side != 0)
    return fail("{}: {} places lie along a window's side, expected a multiple of {}, which is {}", keys.path(),
                config.grid_side, keys.key("spatial_merge_size"), config.merge_side);
  config.places = LearnedPlaces::kSampled;
  config.turns = PatchTurns::kHalves;
  config.first_turn = 1;
  config.patch_norms = {.placed = vision_names::kPreNorm, .epsilon = config.norm_epsilon};
  OCTAVO_TRY(LayerSpec layer, read_layer(keys, config));
  std::get<DenseFfnSpec>(layer.feed_forward).activation = Activation::kGelu;
  OCTAVO_TRY_VOID(read_layers(keys, layer, config));
  OCTAVO_TRY_VOID(expect_no_silu(keys, config));
  set_windows(config.grid_side, kPattern, config);
  config.in_windows.back() = false;
  OCTAVO_TRY(const int hidden, read_result_width(keys, vision_names::kMergerUp));
  config.merger = {.join = PatchJoin::kChannels,
                   .patch_norm = vision_names::kPostNorm,
                   .hidden_width = hidden,
                   .up = vision_names::kMergerUp,
                   .down = vision_names::kMergerDown,
                   .between = vision_names::kProjectorUp};
  return {};
}

}  // namespace octavo
