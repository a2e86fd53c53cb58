// Qwen2-VL, Qwen2.5-VL, MiniCPM-V 4.6 and Muse Glimmer.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "source/folder/tower_keys.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

constexpr std::string_view kQwen2Prefixes[] = {"model.visual.", "visual."};
constexpr TensorName kQwen2WholeNames[] = {
    {"patch_embed.proj.weight", "v.patch_embd.weight", TensorForm::kFrames},
    {"merger.ln_q.weight", "v.post_ln.weight"},
    {"merger.ln_q.bias", "v.post_ln.bias"},
    {"merger.mlp.0.weight", "mm.0.weight"},
    {"merger.mlp.0.bias", "mm.0.bias"},
    {"merger.mlp.2.weight", "mm.2.weight"},
    {"merger.mlp.2.bias", "mm.2.bias"},
};
constexpr TensorName kQwen2LayerNames[] = {
    {"norm1", vision_names::kMixerNorm},
    {"norm2", vision_names::kFfnNorm},
    {"attn.qkv", vision_names::kQkv, TensorForm::kQueriesKeysValues},
    {"attn.proj", vision_names::kAttentionOutput},
    {"mlp.fc1", vision_names::kUp},
    {"mlp.fc2", vision_names::kDown},
    {"mlp.gate_proj", vision_names::kGate},
    {"mlp.up_proj", vision_names::kUp},
    {"mlp.down_proj", vision_names::kDown},
};

constexpr std::string_view kMiniCpmPrefixes[] = {"model.vision_tower.", "model.merger.", "vision_tower.", "merger."};
constexpr TensorName kMiniCpmWholeNames[] = {
    {"embeddings.patch_embedding.weight", "v.patch_embd.weight", TensorForm::kNumbers},
    {"embeddings.patch_embedding.bias", "v.patch_embd.bias"},
    {"embeddings.position_embedding.weight", "v.position_embd.weight", TensorForm::kNumbers},
    {"post_layernorm.weight", "v.post_ln.weight"},
    {"post_layernorm.bias", "v.post_ln.bias"},
    {"vit_merger.layer_norm1.weight", "v.vit_merger.ln1.weight"},
    {"vit_merger.layer_norm1.bias", "v.vit_merger.ln1.bias"},
    {"vit_merger.self_attn.q_proj.weight", "v.vit_merger.attn_q.weight"},
    {"vit_merger.self_attn.q_proj.bias", "v.vit_merger.attn_q.bias"},
    {"vit_merger.self_attn.k_proj.weight", "v.vit_merger.attn_k.weight"},
    {"vit_merger.self_attn.k_proj.bias", "v.vit_merger.attn_k.bias"},
    {"vit_merger.self_attn.v_proj.weight", "v.vit_merger.attn_v.weight"},
    {"vit_merger.self_attn.v_proj.bias", "v.vit_merger.attn_v.bias"},
    {"vit_merger.self_attn.out_proj.weight", "v.vit_merger.attn_out.weight"},
    {"vit_merger.self_attn.out_proj.bias", "v.vit_merger.attn_out.bias"},
    {"vit_merger.pre_norm.weight", "v.vit_merger.ds_ln.weight"},
    {"vit_merger.pre_norm.bias", "v.vit_merger.ds_ln.bias"},
    {"vit_merger.linear_1.weight", "v.vit_merger.ds_ffn_up.weight"},
    {"vit_merger.linear_1.bias", "v.vit_merger.ds_ffn_up.bias"},
    {"vit_merger.linear_2.weight", "v.vit_merger.ds_ffn_down.weight"},
    {"vit_merger.linear_2.bias", "v.vit_merger.ds_ffn_down.bias"},
    {"mlp.0.pre_norm.weight", "mm.input_norm.weight"},
    {"mlp.0.pre_norm.bias", "mm.input_norm.bias"},
    {"mlp.0.linear_1.weight", "mm.up.weight"},
    {"mlp.0.linear_1.bias", "mm.up.bias"},
    {"mlp.0.linear_2.weight", "mm.down.weight"},
    {"mlp.0.linear_2.bias", "mm.down.bias"},
};
constexpr TensorName kMiniCpmLayerNames[] = {
    {"layer_norm1", vision_names::kMixerNorm},
    {"layer_norm2", vision_names::kFfnNorm},
    {"self_attn.q_proj", vision_names::kQ},
    {"self_attn.k_proj", vision_names::kK},
    {"self_attn.v_proj", vision_names::kV},
    {"self_attn.out_proj", vision_names::kAttentionOutput},
    {"mlp.fc1", vision_names::kUp},
    {"mlp.fc2", vision_names::kDown},
};

constexpr std::string_view kMusePrefixes[] = {"model.vision_", "vision_"};
constexpr TensorName kMuseWholeNames[] = {
    {"tower.patch_embedder.patch_embedding.weight", "v.patch_embd.weight", TensorForm::kFrameRows},
    {"tower.patch_embedder.position_embedding_table.weight", "v.position_embd.weight", TensorForm::kNumbers},
    {"tower.ln_pre.weight", "v.pre_ln.weight"},
    {"tower.ln_pre.bias", "v.pre_ln.bias"},
    {"tower.ln_post.weight", "v.post_ln.weight"},
    {"tower.ln_post.bias", "v.post_ln.bias"},
    {"adapter.fc1.weight", "mm.0.weight"},
    {"adapter.fc2.weight", "mm.1.weight"},
    {"projection.weight", "mm.2.weight"},
};
constexpr TensorName kMuseLayerNames[] = {
    {"norm1", vision_names::kMixerNorm}, {"norm2", vision_names::kFfnNorm},
    {"attn.q_proj", vision_names::kQ},   {"attn.k_proj", vision_names::kK},
    {"attn.v_proj", vision_names::kV},   {"attn.proj", vision_names::kAttentionOutput},
    {"mlp.fc1", vision_names::kUp},      {"mlp.fc2", vision_names::kDown},
};

/// Adds what the towers of Qwen2-VL and Qwen2.5-VL share.
Result<void> add_qwen2_keys(const TowerKeys& keys, std::span<const SizeName> widths) {
  OCTAVO_TRY_VOID(require_size(keys.vision, "temporal_patch_size", 2));
  OCTAVO_TRY_VOID(require_size(keys.vision, "in_channels", 3));
  OCTAVO_TRY_VOID(require_size(keys.vision, "in_chans", 3));
  OCTAVO_TRY_VOID(require_rope_base(keys.vision, 10'000));
  OCTAVO_TRY_VOID(add_pixels(keys));
  OCTAVO_TRY_VOID(add_sizes(keys, widths));
  constexpr SizeName kSizes[] = {{"depth", "block_count"}, {"num_heads", "attention.head_count"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.vision, {"patch_size", "patch_size"}, 14));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.vision, {"spatial_merge_size", "spatial_merge_size"}, 2));
  constexpr std::uint64_t kImageSide = 560;  // the key must be there, and nobody reads it
  keys.out.add_u32(vision_key("image_size"), kImageSide);
  constexpr double kEpsilon = 1e-6;  // no member has it
  keys.out.add_f32(vision_key("attention.layer_norm_epsilon"), kEpsilon);
  return {};
}

Result<void> add_qwen2vl_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(require_word(keys.vision, "hidden_act", "quick_gelu"));
  // The second width is that of the text model, as llama.cpp's converter writes it; tensors tell.
  constexpr SizeName kWidths[] = {{"embed_dim", "embedding_length"}, {"hidden_size", "feed_forward_length"}};
  return add_qwen2_keys(keys, kWidths);
}

/// The distance from one layer that sees all to the next: the last of every so many does.
Result<std::uint64_t> window_pattern(const JsonObject& vision) {
  constexpr std::string_view kWhole = "fullatt_block_indexes";
  OCTAVO_TRY(const std::uint64_t num_layers, number_of_layers(vision, "depth"));
  const TemplateList* list = vision.find_list(kWhole);
  const auto number = [&](std::size_t i) {
    const auto* layer = std::get_if<std::int64_t>(&(*list)[i]);
    return layer == nullptr || *layer < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(*layer) + 1;
  };
  if (list == nullptr || list->empty()) return fail("{} is missing, expected layers", vision.place(kWhole));
  const std::uint64_t pattern = number(0);
  bool is_regular = pattern > 0 && list->size() == num_layers / pattern;
  for (std::size_t i = 0; i < list->size() && is_regular; ++i) is_regular = number(i) == (i + 1) * pattern;
  if (!is_regular)
    return fail("{} has {} layers from {} on, expected every so many-th of {}", vision.place(kWhole), list->size(),
                describe_json(list->front()), num_layers);
  return pattern;
}

Result<void> add_qwen25vl_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(require_word(keys.vision, "hidden_act", "silu"));
  OCTAVO_TRY_VOID(require_size(keys.vision, "window_size", 112));
  constexpr SizeName kWidths[] = {{"hidden_size", "embedding_length"}, {"intermediate_size", "feed_forward_length"}};
  OCTAVO_TRY_VOID(add_qwen2_keys(keys, kWidths));
  keys.out.add_flag("clip.use_silu", true);
  OCTAVO_TRY(const std::uint64_t pattern, window_pattern(keys.vision));
  keys.out.add_u32(vision_key("n_wa_pattern"), pattern);
  return {};
}

Result<void> add_minicpm_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(add_siglip_sizes(keys));
  OCTAVO_TRY_VOID(require_size(keys.whole, "merger_times", 1));
  OCTAVO_TRY_VOID(require_word(keys.whole, "downsample_mode", "16x"));
  std::uint64_t side = 448;
  if (keys.processing) {
    OCTAVO_TRY_VOID(require_word(*keys.processing, "downsample_mode", "16x"));
    OCTAVO_TRY_VOID(require_size(*keys.processing, "max_slice_nums", 9));
    OCTAVO_TRY(const auto given, keys.processing->size_if("scale_resolution"));
    side = given.value_or(side);
    if (side > kMostModelSize)
      return fail("{} is {}, expected at most {}", keys.processing->place("scale_resolution"), side, kMostModelSize);
  }
  keys.out.add_u32(vision_key("image_size"), side);
  keys.out.add_u32(vision_key("projector.scale_factor"), 4);
  constexpr std::string_view kJoin = "insert_layer_id";
  const JsonObject& from = keys.whole.has(kJoin) ? keys.whole : keys.vision;
  OCTAVO_TRY(const auto layer, from.size_if(kJoin));
  OCTAVO_TRY(const std::uint64_t num_layers, number_of_layers(keys.vision, "num_hidden_layers"));
  constexpr std::uint64_t kUsualJoin = 6;
  if (layer.value_or(kUsualJoin) >= num_layers)
    return fail("{} is {}, expected a layer below {}", from.place(kJoin), layer.value_or(kUsualJoin), num_layers);
  const auto join = static_cast<std::int32_t>(layer.value_or(kUsualJoin));
  keys.out.add_i32s(vision_key("wa_layer_indexes"), {&join, 1});
  return {};
}

/// Checks that every fourth layer sees all, and the last.
Result<void> check_muse_layers(const JsonObject& vision, std::uint64_t num_layers) {
  constexpr std::uint64_t kEvery = 4;
  OCTAVO_TRY(const auto kinds, layer_kinds(vision, {"full_attention", "window_attention"}));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view expected =
        (i + 1) % kEvery == 0 || i + 1 == num_layers ? "full_attention" : "window_attention";
    if (kinds[i] != expected)
      return fail("{} has {} for layer {}, expected {}", vision.place("layer_types"), kinds[i], i, expected);
  }
  return {};
}

Result<void> add_muse_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(require_word(keys.vision, "hidden_act", "gelu"));
  OCTAVO_TRY_VOID(require_word(keys.whole, "projector_hidden_act", "gelu"));
  OCTAVO_TRY_VOID(require_size(keys.vision, "patch_temporal", 2));
  OCTAVO_TRY_VOID(require_rope_base(keys.vision, 10'000));
  constexpr SizeName kSizes[] = {{"hidden_size", "embedding_length"},
                                 {"intermediate_size", "feed_forward_length"},
                                 {"num_hidden_layers", "block_count"},
                                 {"num_attention_heads", "attention.head_count"},
                                 {"patch_size", "patch_size"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  OCTAVO_TRY(const std::uint64_t num_layers, number_of_layers(keys.vision, "num_hidden_layers"));
  OCTAVO_TRY_VOID(check_muse_layers(keys.vision, num_layers));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.vision, {"merge_size", "spatial_merge_size"}, 2));
  OCTAVO_TRY(const auto merge, keys.vision.size_if("merge_size"));
  OCTAVO_TRY(const std::uint64_t patch, keys.vision.size("patch_size"));
  OCTAVO_TRY(const std::uint64_t rows, keys.vision.size("pos_emb_height"));
  OCTAVO_TRY_VOID(require_size(keys.vision, "pos_emb_width", rows));
  if (rows > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.vision.place("pos_emb_height"), rows, kMostModelSize);
  const std::uint64_t token = patch * merge.value_or(2);
  keys.out.add_u32(vision_key("image_size"), rows * token);
  if (keys.processing) {
    constexpr std::uint64_t kMostTokens = 1 << 16;
    OCTAVO_TRY(const auto most, keys.processing->size_if("max_image_tokens"));
    if (most.value_or(0) > kMostTokens)
      return fail("{} is {}, expected at most {}", keys.processing->place("max_image_tokens"), *most, kMostTokens);
    if (most && *most * token * token <= INT32_MAX)
      keys.out.add_u32(vision_key("image_max_pixels"), *most * token * token);
  }
  return add_epsilon(keys, "layer_norm_eps", 1e-5);
}

constexpr std::array<float, 3> kHalf = {0.5F, 0.5F, 0.5F};
constexpr std::array<float, 3> kClipMean = {0.48145466F, 0.4578275F, 0.40821073F};
constexpr std::array<float, 3> kClipDeviation = {0.26862954F, 0.26130258F, 0.27577711F};
constexpr TowerFamily kTowers[] = {{.name = "qwen2vl_merger",
                                    .add_keys = add_qwen2vl_tower,
                                    .mean = kClipMean,
                                    .deviation = kClipDeviation,
                                    .prefixes = kQwen2Prefixes,
                                    .whole_names = kQwen2WholeNames,
                                    .layers = "blocks.",
                                    .layer_names = kQwen2LayerNames},
                                   {.name = "qwen2.5vl_merger",
                                    .add_keys = add_qwen25vl_tower,
                                    .mean = kClipMean,
                                    .deviation = kClipDeviation,
                                    .prefixes = kQwen2Prefixes,
                                    .whole_names = kQwen2WholeNames,
                                    .layers = "blocks.",
                                    .layer_names = kQwen2LayerNames},
                                   {.name = "minicpmv4_6",
                                    .add_keys = add_minicpm_tower,
                                    .mean = kHalf,
                                    .deviation = kHalf,
                                    .prefixes = kMiniCpmPrefixes,
                                    .whole_names = kMiniCpmWholeNames,
                                    .layers = "encoder.layers.",
                                    .layer_names = kMiniCpmLayerNames},
                                   {.name = "muse-glimmer",
                                    .add_keys = add_muse_tower,
                                    .mean = kHalf,
                                    .deviation = kHalf,
                                    .prefixes = kMusePrefixes,
                                    .whole_names = kMuseWholeNames,
                                    .layers = "tower.layers.",
                                    .layer_names = kMuseLayerNames,
                                    .pairs_neighbours = true}};

}  // namespace

std::span<const TowerFamily> towers_with_windows() { return kTowers; }

}  // namespace octavo
