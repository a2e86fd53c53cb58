// Seed-OSS (ByteDance Seed, 2025).
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_seed_oss(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.ffn_norm_is_post_attention = true;
  take_no_factors_of_feed_forward(layer);
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
