// Qwen 2 and 2.5 (Yang et al., 2024), and the text models of Qwen2-VL, Qwen2.5-VL and Omni (Bai et al., 2025): a text
// has the same position in all sections of the rotation, so that it is the ordinary one.
#include "model/architectures/architectures.h"
#include "model/architectures/rope_keys.h"

namespace octavo {

Result<void> read_qwen2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.attention()->qkv_bias = Presence::kRequired;
  OCTAVO_TRY_VOID(read_rope_sections(keys, false, layer.attention()->rope));
  std::get<DenseFfnSpec>(layer.feed_forward).has_factors = false;  // llama.cpp's graph has no factors
  config.logit_bias = Presence::kOptional;
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
