// Llama 1 to 3 and what follows them (Touvron et al., 2023; Grattafiori et al., 2024): Mistral, SmolLM, TinyLlama, ...
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_llama(const ModelKeys& keys, ModelConfig& config) {
  // Files of the first Llama models leave the base out.
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, 10000.0));
  layer.attention()->qkv_bias = Presence::kOptional;
  layer.attention()->rope.layout = RopeLayout::kNeighbours;
  layer.attention()->rope.factors = Presence::kOptional;  // Llama 3.1's long contexts
  OCTAVO_TRY(config.layers, read_equal_layers(keys, layer));
  return {};
}

}  // namespace octavo
