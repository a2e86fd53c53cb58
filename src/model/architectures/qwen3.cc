// Qwen 3, dense (Yang et al., 2025), and the part of Qwen3-VL that reads text (Bai et al., 2025): a text has the same
// position in all sections of the rotation, so that it is the ordinary one.
#include "model/architectures/architectures.h"
#include "model/architectures/rope_keys.h"

namespace octavo {

Result<void> read_qwen3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.attention()->qk_norm = Presence::kRequired;
  OCTAVO_TRY_VOID(read_rope_sections(keys, true, layer.attention()->rope));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(config.num_deepstack, read_num_deepstack(keys, config.num_layers()));
  return {};
}

Result<void> read_qwen3vl(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_qwen3(keys, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
