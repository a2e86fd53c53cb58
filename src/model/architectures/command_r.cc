// Command R, R+ and R7B (Cohere, 2024): the feed-forward reads what attention reads, norms are LayerNorm without
// biases, and logits have a scale. R7B and A (cohere2) have windows; their layers without a window have no positions.
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_command_r(const ModelKeys& keys, ModelConfig& config) {
  config.norm = NormKind::kLayer;
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.is_parallel = true;
  take_no_factors_of_feed_forward(layer);
  layer.attention()->rope.layout = RopeLayout::kNeighbours;
  layer.attention()->output_bias = Presence::kOptional;
  layer.attention()->qk_norm = Presence::kOptional;  // for Command R+
  layer.attention()->qk_norm_by_head = true;
  OCTAVO_TRY(const double scale, keys.positive("logit_scale"));
  config.logit_scale = static_cast<float>(scale);
  return read_equal_layers(keys, layer, config);
}

Result<void> read_cohere2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_command_r(keys, config));
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerOfFour, {}, config.layers));
  forget_positions_of_global_layers(config.layers);
  for (LayerSpec& layer : config.layers) std::get<DenseFfnSpec>(layer.feed_forward).has_factors = true;
  return {};
}

}  // namespace octavo
