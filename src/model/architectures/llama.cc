// Llama 1 to 3 and what follows them (Touvron et al., 2023; Grattafiori et al., 2024): Mistral, SmolLM, TinyLlama, ...;
// with experts Mixtral (Jiang et al., 2024).
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {

Result<void> read_llama(const ModelKeys& keys, ModelConfig& config) {
  // Files of the first Llama models leave the base out.
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, 10000.0));
  layer.attention()->qkv_bias = Presence::kOptional;
  layer.attention()->rope.layout = RopeLayout::kNeighbours;
  layer.attention()->rope.factors = Presence::kOptional;  // Llama 3.1's long contexts
  OCTAVO_TRY(const bool is_mixture, has_experts(keys));
  if (is_mixture) {
    const int width = std::get<DenseFfnSpec>(layer.feed_forward).width;
    OCTAVO_TRY(layer.feed_forward, read_experts(keys, width));
  }
  OCTAVO_TRY(config.layers, read_equal_layers(keys, layer));
  return {};
}

}  // namespace octavo
