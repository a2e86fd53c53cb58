// The names of keys and tensors of a file with a vision encoder (gguf-py's constants.py: "clip", "mmproj").
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace octavo::vision_names {

inline constexpr std::string_view kArchitecture = "clip";  // general.architecture
inline constexpr std::string_view kKeys = "clip.vision";   // how its keys begin
inline constexpr std::string_view kHasVision = "clip.has_vision_encoder";
inline constexpr std::string_view kFamily = "clip.projector_type";
inline constexpr std::string_view kFamilyBesideSound = "clip.vision.projector_type";  // where the file has sound too
inline constexpr std::string_view kUseSilu = "clip.use_silu", kUseGelu = "clip.use_gelu";

inline constexpr std::string_view kOfSound[] = {"a.", "mm.a."};  // how tensors of sound begin

inline constexpr std::string_view kPatches = "v.patch_embd.weight", kLaterPatches = "v.patch_embd.weight.1",
                                  kPatchBias = "v.patch_embd.bias";
inline constexpr std::string_view kPositions = "v.position_embd.weight";
inline constexpr std::string_view kPostNorm = "v.post_ln";
inline constexpr std::string_view kPreNorm = "v.pre_ln";  // of patches in front of the layers
// The norms of a patch's pixels, of the row that they become, and of that row with its place.
inline constexpr std::string_view kPixelNorm = "v.patch_norm.1", kProductNorm = "v.patch_norm.2",
                                  kPlacedNorm = "v.patch_norm.3";
inline constexpr std::string_view kMergerUp = "mm.0", kMergerDown = "mm.2";
inline constexpr std::string_view kProjectorUp = "mm.1";                       // where mm.2 is the next one
inline constexpr std::string_view kProjection = "mm.input_projection";         // the only matrix behind the layers
inline constexpr std::string_view kJoinedNorm = "mm.soft_emb_norm";            // in front of it
inline constexpr std::string_view kConnector = "mm.model.fc";                  // the same in other families
inline constexpr std::string_view kProjectorNorm = "mm.input_norm";            // of what the projector reads
inline constexpr std::string_view kPatchMerger = "mm.patch_merger";            // makes a patch's row of joined ones
inline constexpr std::string_view kFinalUp = "mm.up", kFinalDown = "mm.down";  // behind joined rows
inline constexpr std::string_view kStandardBias = "v.std_bias", kStandardScale = "v.std_scale";
inline constexpr std::string_view kBreakEmbedding = "v.token_embd.img_break";  // a copy of the text model's own

// The stems of a layer's tensors, after "v.blk.N." and before ".weight" or ".bias".
inline constexpr std::string_view kMixerNorm = "ln1", kFfnNorm = "ln2";
inline constexpr std::string_view kQ = "attn_q", kK = "attn_k", kV = "attn_v", kQkv = "attn_qkv";
inline constexpr std::string_view kAttentionOutput = "attn_out";
inline constexpr std::string_view kQNorm = "attn_q_norm", kKNorm = "attn_k_norm";
inline constexpr std::string_view kUp = "ffn_up", kDown = "ffn_down", kGate = "ffn_gate";
inline constexpr std::string_view kMixerPostNorm = "attn_post_norm", kFfnPostNorm = "ffn_post_norm";

// The endings of four numbers beside a matrix: the bounds of its inputs and of its outputs.
inline constexpr std::string_view kInputMin = ".input_min", kInputMax = ".input_max", kOutputMin = ".output_min",
                                  kOutputMax = ".output_max";

// The stems of the tensors that join rows behind a layer, after "v.vit_merger."; those of attention are a layer's.
inline constexpr std::string_view kRowJoin = "v.vit_merger.";
inline constexpr std::string_view kRowJoinNorm = "ds_ln", kRowJoinUp = "ds_ffn_up", kRowJoinDown = "ds_ffn_down";

// The stems of a DeepStack merger's tensors, after "v.deepstack.N.", where N is the layer in front of the merger.
inline constexpr std::string_view kDeepstack = "v.deepstack.";
inline constexpr std::string_view kDeepstackNorm = "norm", kDeepstackUp = "fc1", kDeepstackDown = "fc2";

inline std::string of_layer(int layer, std::string_view stem) { return fmt::format("v.blk.{}.{}", layer, stem); }
inline std::string of_deepstack(int layer, std::string_view stem) {
  return fmt::format("{}{}.{}", kDeepstack, layer, stem);
}

}  // namespace octavo::vision_names
