// StarCoder 2 (Lozhkov et al., 2024): LayerNorm with biases, a bias for every matrix, and no gate.
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_starcoder2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, 10000.0));
  config.norm = NormKind::kLayer;
  config.output_norm_bias = Presence::kRequired;
  layer.norm_biases = Presence::kRequired;
  layer.attention()->output_bias = Presence::kRequired;
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.activation = Activation::kGeluTanh;
  dense.is_gated = false;
  dense.biases = Presence::kRequired;
  dense.has_factors = false;
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
