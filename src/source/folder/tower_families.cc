#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "source/folder/tower_keys.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

constexpr std::string_view kDeepstackIndexes = "deepstack_visual_indexes";

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

constexpr std::string_view kGemma4Prefixes[] = {"model.vision_tower.", "model.embed_vision.", "vision_tower.",
                                                "embed_vision."};
constexpr TensorName kGemma4WholeNames[] = {
    {"patch_embedder.input_proj.weight", "v.patch_embd.weight", TensorForm::kPixelRows},
    {"patch_embedder.position_embedding_table", "v.position_embd.weight", TensorForm::kNumbers},
    {"std_bias", vision_names::kStandardBias},
    {"std_scale", vision_names::kStandardScale},
    {"embedding_projection.weight", "mm.input_projection.weight"},
};
constexpr TensorForm kBound = TensorForm::kNumber;
constexpr TensorName kGemma4LayerNames[] = {
    {"input_layernorm", vision_names::kMixerNorm},
    {"post_attention_layernorm", vision_names::kMixerPostNorm},
    {"pre_feedforward_layernorm", vision_names::kFfnNorm},
    {"post_feedforward_layernorm", vision_names::kFfnPostNorm},
    {"self_attn.q_norm", vision_names::kQNorm},
    {"self_attn.k_norm", vision_names::kKNorm},
    {"self_attn.q_proj.linear", vision_names::kQ},
    {"self_attn.k_proj.linear", vision_names::kK},
    {"self_attn.v_proj.linear", vision_names::kV},
    {"self_attn.o_proj.linear", vision_names::kAttentionOutput},
    {"mlp.gate_proj.linear", vision_names::kGate},
    {"mlp.up_proj.linear", vision_names::kUp},
    {"mlp.down_proj.linear", vision_names::kDown},
    {"self_attn.q_proj.input_min", "attn_q.input_min", kBound},
    {"self_attn.q_proj.input_max", "attn_q.input_max", kBound},
    {"self_attn.q_proj.output_min", "attn_q.output_min", kBound},
    {"self_attn.q_proj.output_max", "attn_q.output_max", kBound},
    {"self_attn.k_proj.input_min", "attn_k.input_min", kBound},
    {"self_attn.k_proj.input_max", "attn_k.input_max", kBound},
    {"self_attn.k_proj.output_min", "attn_k.output_min", kBound},
    {"self_attn.k_proj.output_max", "attn_k.output_max", kBound},
    {"self_attn.v_proj.input_min", "attn_v.input_min", kBound},
    {"self_attn.v_proj.input_max", "attn_v.input_max", kBound},
    {"self_attn.v_proj.output_min", "attn_v.output_min", kBound},
    {"self_attn.v_proj.output_max", "attn_v.output_max", kBound},
    {"self_attn.o_proj.input_min", "attn_out.input_min", kBound},
    {"self_attn.o_proj.input_max", "attn_out.input_max", kBound},
    {"self_attn.o_proj.output_min", "attn_out.output_min", kBound},
    {"self_attn.o_proj.output_max", "attn_out.output_max", kBound},
    {"mlp.gate_proj.input_min", "ffn_gate.input_min", kBound},
    {"mlp.gate_proj.input_max", "ffn_gate.input_max", kBound},
    {"mlp.gate_proj.output_min", "ffn_gate.output_min", kBound},
    {"mlp.gate_proj.output_max", "ffn_gate.output_max", kBound},
    {"mlp.up_proj.input_min", "ffn_up.input_min", kBound},
    {"mlp.up_proj.input_max", "ffn_up.input_max", kBound},
    {"mlp.up_proj.output_min", "ffn_up.output_min", kBound},
    {"mlp.up_proj.output_max", "ffn_up.output_max", kBound},
    {"mlp.down_proj.input_min", "ffn_down.input_min", kBound},
    {"mlp.down_proj.input_max", "ffn_down.input_max", kBound},
    {"mlp.down_proj.output_min", "ffn_down.output_min", kBound},
    {"mlp.down_proj.output_max", "ffn_down.output_max", kBound},
};

constexpr std::string_view kGemma4UnifiedPrefixes[] = {"model.vision_embedder.", "model.embed_vision.",
                                                       "vision_embedder.", "embed_vision."};
constexpr TensorName kGemma4UnifiedWholeNames[] = {
    {"patch_ln1.weight", "v.patch_norm.1.weight", TensorForm::kPixels},
    {"patch_ln1.bias", "v.patch_norm.1.bias", TensorForm::kPixels},
    {"patch_dense.weight", "v.patch_embd.weight", TensorForm::kPixels},
    {"patch_dense.bias", "v.patch_embd.bias"},
    {"patch_ln2.weight", "v.patch_norm.2.weight"},
    {"patch_ln2.bias", "v.patch_norm.2.bias"},
    {"pos_embedding", "v.position_embd.weight", TensorForm::kTables},
    {"pos_norm.weight", "v.patch_norm.3.weight"},
    {"pos_norm.bias", "v.patch_norm.3.bias"},
    {"embedding_projection.weight", "mm.input_projection.weight"},
};

constexpr std::string_view kGemma3Prefixes[] = {
    "model.vision_tower.vision_model.", "model.vision_tower.", "model.multi_modal_projector.",
    "vision_tower.vision_model.",       "vision_tower.",       "multi_modal_projector."};
constexpr TensorName kGemma3WholeNames[] = {
    {"embeddings.patch_embedding.weight", "v.patch_embd.weight", TensorForm::kNumbers},
    {"embeddings.patch_embedding.bias", "v.patch_embd.bias"},
    {"embeddings.position_embedding.weight", "v.position_embd.weight", TensorForm::kNumbers},
    {"post_layernorm.weight", "v.post_ln.weight"},
    {"post_layernorm.bias", "v.post_ln.bias"},
    {"mm_soft_emb_norm.weight", "mm.soft_emb_norm.weight"},
    {"mm_input_projection_weight", "mm.input_projection.weight"},
};
constexpr std::string_view kSmolVlmPrefixes[] = {"model.vision_model.", "model.connector.", "vision_model.",
                                                 "connector."};
constexpr TensorName kSmolVlmWholeNames[] = {
    {"embeddings.patch_embedding.weight", "v.patch_embd.weight", TensorForm::kNumbers},
    {"embeddings.patch_embedding.bias", "v.patch_embd.bias"},
    {"embeddings.position_embedding.weight", "v.position_embd.weight", TensorForm::kNumbers},
    {"post_layernorm.weight", "v.post_ln.weight"},
    {"post_layernorm.bias", "v.post_ln.bias"},
    {"modality_projection.proj.weight", "mm.model.fc.weight"},
};
constexpr std::string_view kLfm2Prefixes[] = {
    "model.vision_tower.vision_model.", "model.vision_tower.", "model.multi_modal_projector.",
    "vision_tower.vision_model.",       "vision_tower.",       "multi_modal_projector."};
constexpr TensorName kLfm2WholeNames[] = {
    {"embeddings.patch_embedding.weight", "v.patch_embd.weight", TensorForm::kPixelRows},
    {"embeddings.patch_embedding.bias", "v.patch_embd.bias"},
    {"embeddings.position_embedding.weight", "v.position_embd.weight", TensorForm::kNumbers},
    {"post_layernorm.weight", "v.post_ln.weight"},
    {"post_layernorm.bias", "v.post_ln.bias"},
    {"layer_norm.weight", "mm.input_norm.weight"},
    {"layer_norm.bias", "mm.input_norm.bias"},
    {"linear_1.weight", "mm.1.weight"},
    {"linear_1.bias", "mm.1.bias"},
    {"linear_2.weight", "mm.2.weight"},
    {"linear_2.bias", "mm.2.bias"},
};
constexpr TensorName kSiglipLayerNames[] = {
    {"layer_norm1", vision_names::kMixerNorm},
    {"layer_norm2", vision_names::kFfnNorm},
    {"self_attn.q_proj", vision_names::kQ},
    {"self_attn.k_proj", vision_names::kK},
    {"self_attn.v_proj", vision_names::kV},
    {"self_attn.out_proj", vision_names::kAttentionOutput},
    {"mlp.fc1", vision_names::kUp},
    {"mlp.fc2", vision_names::kDown},
};
constexpr std::string_view kPixtralPrefixes[] = {"model.vision_tower.", "model.multi_modal_projector.", "vision_tower.",
                                                 "multi_modal_projector."};
constexpr TensorName kPixtralWholeNames[] = {
    {"patch_conv.weight", "v.patch_embd.weight", TensorForm::kNumbers},
    {"ln_pre.weight", "v.pre_ln.weight"},
    {"norm.weight", "mm.input_norm.weight"},
    {"patch_merger.merging_layer.weight", "mm.patch_merger.weight"},
    {"linear_1.weight", "mm.1.weight"},
    {"linear_1.bias", "mm.1.bias"},
    {"linear_2.weight", "mm.2.weight"},
    {"linear_2.bias", "mm.2.bias"},
};
constexpr TensorName kPixtralLayerNames[] = {
    {"attention_norm", vision_names::kMixerNorm},    {"ffn_norm", vision_names::kFfnNorm},
    {"attention.q_proj", vision_names::kQ},          {"attention.k_proj", vision_names::kK},
    {"attention.v_proj", vision_names::kV},          {"attention.o_proj", vision_names::kAttentionOutput},
    {"feed_forward.gate_proj", vision_names::kGate}, {"feed_forward.up_proj", vision_names::kUp},
    {"feed_forward.down_proj", vision_names::kDown},
};

/// Checks settings of Qwen's towers for which Octavo computes only one value.
Result<void> check_qwen3vl(const JsonObject& vision) {
  OCTAVO_TRY_VOID(require_size(vision, "temporal_patch_size", 2));
  OCTAVO_TRY_VOID(require_size(vision, "in_channels", 3));
  OCTAVO_TRY_VOID(require_word(vision, "hidden_act", "gelu_pytorch_tanh"));
  return require_rope_base(vision, 10'000);
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

/// Adds a number for each channel: what the folder says if pictures are normed at all, or `otherwise`.
Result<void> add_channels(const TowerKeys& keys, std::string_view name, const std::array<float, 3>& otherwise,
                          float unnormed) {
  std::vector<float> numbers(otherwise.begin(), otherwise.end());
  bool norms = true;
  if (keys.processing) {
    OCTAVO_TRY(norms, keys.processing->flag_or("do_normalize", true));
  }
  if (!norms) {
    std::ranges::fill(numbers, unnormed);
  } else if (const TemplateList* list = keys.processing ? keys.processing->find_list(name) : nullptr) {
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

/// The longest side in pixels that the folder says for pictures.
Result<std::optional<std::uint64_t>> longest_edge(const TowerKeys& keys) {
  if (!keys.processing) return std::nullopt;
  OCTAVO_TRY(const auto size, keys.processing->object_if("size"));
  if (!size) return std::nullopt;
  OCTAVO_TRY(const auto longest, size->size_if("longest_edge"));
  if (longest.value_or(0) > kMostModelSize)
    return fail("{} is {}, expected at most {}", size->place("longest_edge"), *longest, kMostModelSize);
  return longest;
}

Result<void> add_idefics3_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(add_siglip_sizes(keys));
  constexpr SizeName kSizes[] = {{"image_size", "image_size"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  OCTAVO_TRY_VOID(add_size_or(keys, keys.whole, {"scale_factor", "projector.scale_factor"}, 2));
  OCTAVO_TRY(const auto longest, longest_edge(keys));
  OCTAVO_TRY(const std::uint64_t tile, keys.vision.size("image_size"));
  keys.out.add_u32(vision_key("preproc_image_size"), longest.value_or(tile));
  return {};
}

Result<void> add_gemma3_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(add_siglip_sizes(keys));
  constexpr SizeName kSizes[] = {{"image_size", "image_size"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  constexpr std::string_view kTokens = "mm_tokens_per_image";
  OCTAVO_TRY(const std::uint64_t image, keys.vision.size("image_size"));
  OCTAVO_TRY(const std::uint64_t patch, keys.vision.size("patch_size"));
  OCTAVO_TRY(const auto found, keys.whole.size_if(kTokens));
  const std::uint64_t tokens = found.value_or(256);
  const auto side = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
  if (patch == 0 || tokens == 0 || tokens > kMostModelSize || side * side != tokens || image / patch % side != 0)
    return fail("{} is {}, expected a square number whose root divides {} patches", keys.whole.place(kTokens), tokens,
                patch == 0 ? 0 : image / patch);
  keys.out.add_u32(vision_key("projector.scale_factor"), image / patch / side);
  return {};
}

Result<void> add_lfm2_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(require_word(keys.whole, "projector_hidden_act", "gelu"));
  OCTAVO_TRY(const auto feature, keys.whole.number_if("vision_feature_layer"));
  if (feature.value_or(-1) != -1)
    return fail("{} is {}, expected -1", keys.whole.place("vision_feature_layer"), *feature);
  OCTAVO_TRY_VOID(add_siglip_sizes(keys));
  OCTAVO_TRY(const std::uint64_t patch_side, keys.vision.size("patch_size"));
  OCTAVO_TRY(const auto patches, keys.vision.size_if("num_patches"));
  const std::uint64_t positions = patches.value_or(256);
  const auto side = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(positions))));
  if (positions == 0 || positions > kMostModelSize || side * side != positions)
    return fail("{} is {}, expected a square number up to {}", keys.vision.place("num_patches"), positions,
                kMostModelSize);
  keys.out.add_u32(vision_key("image_size"), side * patch_side);
  return add_size_or(keys, keys.whole, {"downsample_factor", "projector.scale_factor"}, 2);
}

Result<void> add_pixtral_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(require_word(keys.vision, "model_type", "pixtral"));
  OCTAVO_TRY_VOID(require_word(keys.vision, "hidden_act", "silu"));
  OCTAVO_TRY_VOID(require_word(keys.whole, "projector_hidden_act", "gelu"));
  OCTAVO_TRY_VOID(require_rope_base(keys.vision, 10'000));
  constexpr SizeName kSizes[] = {{"hidden_size", "embedding_length"},
                                 {"intermediate_size", "feed_forward_length"},
                                 {"num_hidden_layers", "block_count"},
                                 {"num_attention_heads", "attention.head_count"},
                                 {"patch_size", "patch_size"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  OCTAVO_TRY(const auto longest, longest_edge(keys));
  OCTAVO_TRY(const std::uint64_t image_side, keys.vision.size("image_size"));
  if (longest.value_or(image_side) > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.vision.place("image_size"), image_side, kMostModelSize);
  keys.out.add_u32(vision_key("image_size"), longest.value_or(image_side));
  if (keys.whole.has("spatial_merge_size"))
    OCTAVO_TRY_VOID(add_size_or(keys, keys.whole, {"spatial_merge_size", "spatial_merge_size"}, 1));
  keys.out.add_flag("clip.use_silu", true);
  keys.out.add_f32(vision_key("attention.layer_norm_epsilon"), 1e-5);
  return {};
}

Result<void> add_gemma4v_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(require_word(keys.vision, "hidden_activation", "gelu_pytorch_tanh"));
  OCTAVO_TRY_VOID(require_rope_base(keys.vision, 100));
  constexpr SizeName kSizes[] = {{"hidden_size", "embedding_length"},
                                 {"intermediate_size", "feed_forward_length"},
                                 {"num_hidden_layers", "block_count"},
                                 {"num_attention_heads", "attention.head_count"},
                                 {"num_key_value_heads", "attention.head_count_kv"},
                                 {"head_dim", "attention.head_dim"},
                                 {"patch_size", "patch_size"},
                                 {"pooling_kernel_size", "projector.scale_factor"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  constexpr std::uint64_t kImageSide = 224;  // which says nothing
  keys.out.add_u32(vision_key("image_size"), kImageSide);
  return add_epsilon(keys, "rms_norm_eps", 1e-6);
}

Result<void> add_gemma4uv_tower(const TowerKeys& keys) {
  constexpr SizeName kSizes[] = {{"mm_embed_dim", "embedding_length"},
                                 {"patch_size", "patch_size"},
                                 {"pooling_kernel_size", "projector.scale_factor"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
  OCTAVO_TRY(const std::uint64_t width, keys.vision.size("mm_embed_dim"));
  OCTAVO_TRY_VOID(require_size(keys.vision, "output_proj_dims", width));
  constexpr std::uint64_t kImageSide = 224;  // which says nothing
  keys.out.add_u32(vision_key("image_size"), kImageSide);
  for (const std::string_view none : {"feed_forward_length", "block_count", "attention.head_count"})
    keys.out.add_u32(vision_key(none), 0);
  return add_epsilon(keys, "rms_norm_eps", 1e-6);
}

Result<void> add_qwen3vl_tower(const TowerKeys& keys) {
  OCTAVO_TRY_VOID(check_qwen3vl(keys.vision));
  OCTAVO_TRY_VOID(add_pixels(keys));
  constexpr SizeName kSizes[] = {{"hidden_size", "embedding_length"},
                                 {"intermediate_size", "feed_forward_length"},
                                 {"depth", "block_count"},
                                 {"num_heads", "attention.head_count"},
                                 {"patch_size", "patch_size"},
                                 {"spatial_merge_size", "spatial_merge_size"}};
  OCTAVO_TRY_VOID(add_sizes(keys, kSizes));
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

constexpr std::array<float, 3> kHalf = {0.5F, 0.5F, 0.5F};
constexpr TowerFamily kTowers[] = {{.name = "qwen3vl_merger",
                                    .add_keys = add_qwen3vl_tower,
                                    .mean = kHalf,
                                    .deviation = kHalf,
                                    .prefixes = kQwenPrefixes,
                                    .whole_names = kQwenWholeNames,
                                    .layers = "blocks.",
                                    .layer_names = kQwenLayerNames,
                                    .deepstack = "deepstack_merger_list.",
                                    .deepstack_names = kQwenDeepstackNames},
                                   {.name = "gemma3",
                                    .add_keys = add_gemma3_tower,
                                    .mean = kHalf,
                                    .deviation = kHalf,
                                    .prefixes = kGemma3Prefixes,
                                    .whole_names = kGemma3WholeNames,
                                    .layers = "encoder.layers.",
                                    .layer_names = kSiglipLayerNames,
                                    .adds_one_to_norms = true},
                                   {.name = "gemma4v",
                                    .add_keys = add_gemma4v_tower,
                                    .mean = {0, 0, 0},
                                    .deviation = {1, 1, 1},
                                    .prefixes = kGemma4Prefixes,
                                    .whole_names = kGemma4WholeNames,
                                    .layers = "encoder.layers.",
                                    .layer_names = kGemma4LayerNames},
                                   {.name = "gemma4uv",
                                    .add_keys = add_gemma4uv_tower,
                                    .mean = {0, 0, 0},
                                    .deviation = {1, 1, 1},
                                    .prefixes = kGemma4UnifiedPrefixes,
                                    .whole_names = kGemma4UnifiedWholeNames},
                                   {.name = "idefics3",
                                    .add_keys = add_idefics3_tower,
                                    .mean = kHalf,
                                    .deviation = kHalf,
                                    .prefixes = kSmolVlmPrefixes,
                                    .whole_names = kSmolVlmWholeNames,
                                    .layers = "encoder.layers.",
                                    .layer_names = kSiglipLayerNames},
                                   {.name = "lfm2",
                                    .add_keys = add_lfm2_tower,
                                    .mean = kHalf,
                                    .deviation = kHalf,
                                    .prefixes = kLfm2Prefixes,
                                    .whole_names = kLfm2WholeNames,
                                    .layers = "encoder.layers.",
                                    .layer_names = kSiglipLayerNames},
                                   {.name = "pixtral",
                                    .add_keys = add_pixtral_tower,
                                    .mean = {0.48145466F, 0.4578275F, 0.40821073F},
                                    .deviation = {0.26862954F, 0.26130258F, 0.27577711F},
                                    .prefixes = kPixtralPrefixes,
                                    .whole_names = kPixtralWholeNames,
                                    .layers = "transformer.layers.",
                                    .layer_names = kPixtralLayerNames,
                                    .pairs_neighbours = true}};

}  // namespace

const TowerFamily* find_tower(std::string_view name) {
  for (const std::span<const TowerFamily> towers : {std::span<const TowerFamily>(kTowers), towers_with_windows()})
    if (const auto found = std::ranges::find(towers, name, &TowerFamily::name); found != towers.end()) return &*found;
  return nullptr;
}

Result<void> add_tower_keys(const TowerFamily& family, const TowerKeys& keys) {
  keys.out.add_text("general.type", "mmproj");
  keys.out.add_flag(vision_names::kHasVision, true);
  keys.out.add_text(vision_names::kFamily, std::string(family.name));
  OCTAVO_TRY(const std::uint64_t text_width, keys.language.size("hidden_size"));
  if (text_width > kMostModelSize)
    return fail("{} is {}, expected at most {}", keys.language.place("hidden_size"), text_width, kMostModelSize);
  keys.out.add_u32(vision_key("projection_dim"), text_width);
  OCTAVO_TRY_VOID(add_channels(keys, "image_mean", family.mean, 0));
  OCTAVO_TRY_VOID(add_channels(keys, "image_std", family.deviation, 1));
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
