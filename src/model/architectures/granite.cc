// Granite 3 and 4 (IBM, 2024 and 2025), dense or mixtures: Llama's layers whose embeddings, results, scores and logits
// are scaled (Yang et al., 2022). An expert for every row may stand beside a mixture. Most layers of the hybrid ones
// have Mamba-2 in the place of attention, which then knows no positions.
#include <algorithm>

#include "base/to_size.h"
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/llama_layer.h"
#include "model/architectures/recurrence_keys.h"
#include "model/architectures/scale_keys.h"

namespace octavo {
namespace {

constexpr double kRopeBase = 10000.0;  // where a file does not say

/// A file with rope.scaling.finetuned that is false has no rotary positions, in this family alone.
Result<bool> has_rope(const ModelKeys& keys) {
  if (!keys.has("rope.scaling.finetuned")) return true;
  return keys.source().get_bool(keys.key("rope.scaling.finetuned"));
}

Result<void> finish_attention(const ModelKeys& keys, AttentionSpec& attention) {
  OCTAVO_TRY(const bool is_rotated, has_rope(keys));
  if (!is_rotated) attention.rope = {};
  return {};
}

Result<void> finish_feed_forward(const ModelKeys& keys, LayerSpec& layer) {
  if (auto* experts = std::get_if<ExpertsFfnSpec>(&layer.feed_forward))
    OCTAVO_TRY_VOID(read_shared_expert(keys, *experts));
  take_no_factors_of_feed_forward(layer);
  return {};
}

}  // namespace

Result<void> read_granite(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_llama_layer(keys, config, kRopeBase));
  OCTAVO_TRY_VOID(finish_attention(keys, *layer.attention()));
  OCTAVO_TRY_VOID(finish_feed_forward(keys, layer));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  return read_scales(keys, config);
}

Result<void> read_granitehybrid(const ModelKeys& keys, ModelConfig& config) {
  LayerSpec layer;
  OCTAVO_TRY(layer.mixer, read_mamba(keys));
  OCTAVO_TRY_VOID(read_llama_feed_forward(keys, layer));
  OCTAVO_TRY_VOID(finish_feed_forward(keys, layer));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  const int num_layers = config.num_layers();
  OCTAVO_TRY(const std::vector<int> heads, keys.sizes("attention.head_count", num_layers, 0));
  OCTAVO_TRY(const std::vector<int> kv_heads, keys.sizes("attention.head_count_kv", num_layers, 0));
  OCTAVO_TRY_VOID(expect_attention(keys, kv_heads));
  for (std::size_t i = 0; i < kv_heads.size(); ++i) {
    if (kv_heads[i] == 0) continue;
    OCTAVO_TRY_VOID(expect_heads(keys, heads[i], kv_heads[i]));
    OCTAVO_TRY(AttentionSpec attention, read_llama_attention(keys, config, heads[i], kv_heads[i], kRopeBase));
    OCTAVO_TRY_VOID(finish_attention(keys, attention));
    config.layers[i].mixer = attention;
  }
  return read_scales(keys, config);
}

}  // namespace octavo
