// GLM-4 of 2025 (Zhipu AI): norms before the parts and after them, half of each head rotated, gate and up of the
// feed-forward in one matrix.
#include "model/architectures/architectures.h"

namespace octavo {

Result<void> read_glm4(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.post_norms = true;
  take_no_factors_of_feed_forward(layer);
  // Converters permute the rows of models that read pictures, whose positions have sections; text has one position.
  if (!keys.has("rope.dimension_sections")) layer.attention()->rope.layout = RopeLayout::kNeighbours;
  std::get<DenseFfnSpec>(layer.feed_forward).gate_in_up = true;
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
