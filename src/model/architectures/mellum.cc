// Mellum 2 (JetBrains, 2026): Qwen 3's mixtures with windows; the positions of windowed layers are not stretched.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {

Result<void> read_mellum(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.attention()->qk_norm = Presence::kRequired;
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  OCTAVO_TRY(layer.feed_forward, read_routed_experts(keys, width, {}, SumsToOne::kAlways));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(const bool is_windowed, has_windows(keys));
  return is_windowed ? read_windows_of_plain_positions(keys, kGlobalLayerOfFour, config.layers) : Result<void>();
}

}  // namespace octavo
