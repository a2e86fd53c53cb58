// Mistral Small 3.1 and later, and Ministral 3 (Mistral AI, 2025): Llama's layers; Ministral's attention grows sharper
// with the position.
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"
#include "model/architectures/scale_keys.h"

namespace octavo {
Result<void> read_mistral3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_llama_layer(keys, config));
  OCTAVO_TRY(layer.attention()->temperature, read_temperature(keys, config));
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
