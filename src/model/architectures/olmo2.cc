// OLMo 2 and 3 (OLMo Team, 2024 and 2025): norms of what the parts give, and none of what they read; Q and K are normed
// over all their heads at once. OLMo 3 has windows, whose layers' positions are not stretched.
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_olmo2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  norm_results_alone(layer);
  take_no_factors_of_feed_forward(layer);
  layer.attention()->qk_norm = Presence::kRequired;
  layer.attention()->qk_norm_is_whole = true;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(const bool is_windowed, has_windows(keys));
  if (!is_windowed) return {};
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerOfFour, {}, config.layers));
  OCTAVO_TRY(const double base, keys.positive_or("rope.freq_base_swa", layer.attention()->rope.base));
  for (LayerSpec& each : config.layers) {
    RopeSpec& rope = each.attention()->rope;
    if (each.attention()->window > 0) rope = {.layout = rope.layout, .num_rotated = rope.num_rotated, .base = base};
  }
  return {};
}

}  // namespace octavo
