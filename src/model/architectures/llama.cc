// Llama 1 to 3 and their successors (Touvron et al., 2023; Grattafiori et al., 2024): Mistral, SmolLM, TinyLlama, ...;
// with biases Granite Code (Mishra et al., 2024), with experts Mixtral (Jiang et al., 2024).
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"

namespace octavo {

Result<void> read_llama(const ModelKeys& keys, ModelConfig& config) {
  // Files of the first Llama models leave the base out.
  OCTAVO_TRY(const LayerSpec layer, read_llama_layer(keys, config, 10000.0));
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
