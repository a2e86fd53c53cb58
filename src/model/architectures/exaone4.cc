// EXAONE 4 (LG AI Research, 2025): norms after the parts of a layer, and none before them. Where layers have windows,
// those without a window have no positions.
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_exaone4(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  norm_results_alone(layer);
  take_no_factors_of_feed_forward(layer);
  layer.attention()->qk_norm = Presence::kRequired;
  layer.attention()->rope.factors = Presence::kOptional;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(const bool is_windowed, has_windows(keys));
  if (!is_windowed) return {};
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerOfFour, {}, config.layers));
  forget_positions_of_global_layers(config.layers);
  return {};
}

}  // namespace octavo
