// Falcon-H1 (TII, 2025): in every layer Mamba-2 beside attention, over one norm. The multipliers of the original are in
// the weights of files.
#include "model/architectures/architectures.h"
#include "model/architectures/recurrence_keys.h"

namespace octavo {

Result<void> read_falcon_h1(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  OCTAVO_TRY(MambaSpec mamba, read_mamba(keys));
  mamba.norm = Presence::kOptional;
  layer.beside = mamba;
  layer.ffn_norm_is_bare = true;
  std::get<DenseFfnSpec>(layer.feed_forward).biases = Presence::kOptional;
  take_no_factors_of_feed_forward(layer);
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
