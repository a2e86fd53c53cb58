// Readers that families of vision encoders share, and those of the families of vision_windows.cc.
#pragma once

#include <optional>
#include <string_view>

#include "model/architectures/model_keys.h"
#include "model/vision_config.h"

namespace octavo {

// Bounds far above those of any encoder, which keep every product of sizes, and scratch for some rows, small.
inline constexpr int kMostFfn = 1 << 17, kMostPatchSide = 64, kMostImageSide = 1 << 16, kMostLayers = 1024;
inline constexpr int kMostTileSide = 4096;

inline constexpr std::string_view kScaleFactor = "projector.scale_factor";  // the key of a token's side in patches

/// Reads the sides of patches and tokens, how pixels are normed, and the bounds of a picture's tokens. `merge_side`:
/// where the file does not say it.
Result<void> read_patches(const ModelKeys& keys, std::string_view merge_key, std::optional<int> merge_side,
                          VisionConfig& config);
/// Reads the layer of an encoder, as most have it.
Result<LayerSpec> read_layer(const ModelKeys& keys, const VisionConfig& config);
/// Reads layers that do not turn heads.
Result<LayerSpec> read_unturned_layer(const ModelKeys& keys, VisionConfig& config);
/// Reads all layers, which are alike.
Result<void> read_layers(const ModelKeys& keys, const LayerSpec& layer, VisionConfig& config);
/// Reads the width of a product's result by its tensor, STEM.weight.
Result<int> read_result_width(const ModelKeys& keys, std::string_view stem);
/// Reads a flag by its whole name; `otherwise`: its value in files that leave it out.
Result<bool> read_flag(const ModelKeys& keys, std::string_view name, bool otherwise);
/// Fails for files that ask for SiLU.
Result<void> expect_no_silu(const ModelKeys& keys, const VisionConfig& config);

/// Reads the encoder of Qwen2-VL (Wang et al., 2024), as in transformers, models/qwen2_vl/modeling_qwen2_vl.py. Files
/// have the width of the text model as that of the feed-forward.
Result<void> read_qwen2vl_merger(const ModelKeys& keys, VisionConfig& config);
/// Reads the encoder of Qwen2.5-VL (Bai et al., 2025), as in transformers, models/qwen2_5_vl/modeling_qwen2_5_vl.py.
/// Windows have 112 pixels along a side.
Result<void> read_qwen25vl_merger(const ModelKeys& keys, VisionConfig& config);
/// Reads the encoder of MiniCPM-V 4.6 (OpenBMB, 2026), as in transformers,
/// models/minicpmv4_6/modeling_minicpmv4_6.py: SigLIP for tiles of about one size, some of whose layers see patches,
/// the others joined ones.
Result<void> read_minicpmv(const ModelKeys& keys, VisionConfig& config);
/// Reads the encoder of Muse Glimmer (Meta, 2026), as in transformers, models/muse_glimmer/modeling_muse_glimmer.py.
/// Windows are as large as the square of learned positions; every fourth layer sees all, and the last.
Result<void> read_muse_glimmer_encoder(const ModelKeys& keys, VisionConfig& config);

}  // namespace octavo
