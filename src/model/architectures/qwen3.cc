// Qwen 3, dense (Yang et al., 2025).
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_qwen3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.attention()->qk_norm = Presence::kRequired;
  OCTAVO_TRY(config.layers, read_equal_layers(keys, layer));
  config.head.softmax = true;  // Qwen3-Reranker's shares of yes and no (Zhang et al., 2025)
  return {};
}

}  // namespace octavo
