// Qwen 2 and 2.5 (Yang et al., 2024).
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_qwen2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.attention()->qkv_bias = Presence::kRequired;
  std::get<DenseFfnSpec>(layer.feed_forward).has_factors = false;  // llama.cpp's graph has none
  config.logit_bias = Presence::kOptional;
  OCTAVO_TRY(config.layers, read_equal_layers(keys, layer));
  return {};
}

}  // namespace octavo
