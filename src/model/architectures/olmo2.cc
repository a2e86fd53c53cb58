// OLMo 2 and 3 (OLMo Team, 2024 and 2025): norms after the parts, and none before them; Q and K are normed over all
// their heads at once. OLMo 3 has windows; the positions of windowed layers are not stretched.
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
  return is_windowed ? read_windows_of_plain_positions(keys, kGlobalLayerOfFour, config.layers) : Result<void>();
}

}  // namespace octavo
