// LFM3 (Liquid AI, 2026): LFM2's layers with norms behind their parts and a gate of each head; layers with a window
// rotate heads by another base, those that see all rotate a part of them. Files are made of folders of safetensors:
// llama.cpp has no form of them yet.
#include "model/architectures/architectures.h"
#include "model/architectures/lfm2_layers.h"

namespace octavo {

Result<void> read_lfm3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_lfm2_layers(keys, config));
  OCTAVO_TRY(const double windowed_base, keys.positive("rope.freq_base_swa"));
  for (LayerSpec& layer : config.layers) {
    layer.post_norms = true;
    AttentionSpec* attention = layer.attention();
    if (attention == nullptr) continue;
    attention->output_gate = OutputGate{.function = GateFunction::kSigmoid, .is_of_heads = true};
    if (attention->window > 0) {
      attention->rope.base = windowed_base;
    } else {
      attention->rope.factors = Presence::kRequired;  // so large for a part of the pairs that these do not turn
    }
  }
  return {};
}

}  // namespace octavo
