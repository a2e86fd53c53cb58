// Qwen 3 with experts (Yang et al., 2025): 30B-A3B, 235B-A22B, Coder.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/rope_keys.h"

namespace octavo {

Result<void> read_qwen3moe(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.attention()->qk_norm = Presence::kRequired;
  OCTAVO_TRY_VOID(read_rope_sections(keys, true, layer.attention()->rope));
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  OCTAVO_TRY(layer.feed_forward, read_experts(keys, width));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(config.num_deepstack, read_num_deepstack(keys, config.num_layers()));
  return {};
}

Result<void> read_qwen3vlmoe(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_qwen3moe(keys, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
