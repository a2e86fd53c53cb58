// Phi 3, 3.5 and Phi-4-mini (Abdin et al., 2024; Microsoft, 2025): Q, K and V in one matrix, gate and up in another.
// Long contexts have LongRoPE's factors. A window that a file names is not computed, as in llama.cpp: converters wrote
// it for models that have none.
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_phi3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, 10000.0));
  std::get<DenseFfnSpec>(layer.feed_forward).gate_in_up = true;
  take_no_factors_of_feed_forward(layer);
  config.logit_bias = Presence::kOptional;
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
