// MiniCPM 1, 2 and 4 (Hu et al., 2024; MiniCPM Team, 2025): Llama's layers with scaled embeddings, results and logits.
//
// Files of the first models have no scales. llama.cpp then divides logits by 256 over the width, where the original
// divides by the width over 256, and so does Octavo.
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"
#include "model/architectures/scale_keys.h"

namespace octavo {
Result<void> read_minicpm(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_llama_layer(keys, config, 10000.0));
  take_no_factors_of_feed_forward(layer);
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  set_scales_of_minicpm(config);
  return read_scales(keys, config);
}

}  // namespace octavo
