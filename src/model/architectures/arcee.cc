// AFM (Arcee AI, 2025): Llama's layers, with a feed-forward of two matrices and a squared ReLU between them.
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"

namespace octavo {

Result<void> read_arcee(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  AttentionSpec& attention = *layer.attention();
  attention.rope.layout = RopeLayout::kNeighbours;
  if (attention.rope.factors == Presence::kAbsent) attention.rope.factors = Presence::kOptional;
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.activation = Activation::kSquaredRelu;
  dense.is_gated = false;
  dense.has_factors = false;
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
