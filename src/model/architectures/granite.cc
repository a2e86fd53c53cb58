// Granite 3 and 4 (IBM, 2024 and 2025) without recurrent layers, dense or mixtures: Llama's layers whose embeddings,
// results, scores and logits are scaled (Yang et al., 2022). An expert for every row may stand beside a mixture.
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"
#include "model/architectures/scale_keys.h"

namespace octavo {
namespace {

/// A file with rope.scaling.finetuned that is false has no rotary positions, in this family alone.
Result<bool> has_rope(const ModelKeys& keys) {
  if (!keys.has("rope.scaling.finetuned")) return true;
  return keys.source().get_bool(keys.key("rope.scaling.finetuned"));
}

}  // namespace

Result<void> read_granite(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_llama_layer(keys, config, 10000.0));
  OCTAVO_TRY(const bool is_rotated, has_rope(keys));
  if (!is_rotated) layer.attention()->rope = {};
  if (auto* experts = std::get_if<ExpertsFfnSpec>(&layer.feed_forward)) {
    constexpr std::string_view kSharedWidth = "expert_shared_feed_forward_length";
    OCTAVO_TRY(experts->shared_width, keys.has(kSharedWidth) ? keys.count(kSharedWidth) : Result<int>(0));
    experts->shared_is_gated = false;
  }
  take_no_factors_of_feed_forward(layer);
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  return read_scales(keys, LogitScale::kDivides, config);
}

}  // namespace octavo
