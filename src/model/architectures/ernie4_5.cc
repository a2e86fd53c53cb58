// ERNIE 4.5, dense (Baidu, 2025). The original rotates neighbouring dimensions as pairs, too.
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_ernie4_5(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.attention()->rope.layout = RopeLayout::kNeighbours;
  layer.attention()->output_bias = Presence::kOptional;
  std::get<DenseFfnSpec>(layer.feed_forward).biases = Presence::kOptional;
  take_no_factors_of_feed_forward(layer);
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
