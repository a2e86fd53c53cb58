#include "model/architectures/llama_layer.h"

#include "model/architectures/experts_keys.h"

namespace octavo {

Result<LayerSpec> read_llama_layer(const ModelKeys& keys, const ModelConfig& config,
                                   std::optional<double> default_rope_base) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, default_rope_base));
  AttentionSpec& attention = *layer.attention();
  attention.output_bias = Presence::kOptional;
  attention.rope.layout = RopeLayout::kNeighbours;
  attention.rope.factors = Presence::kOptional;  // Llama 3.1's long contexts
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.biases = Presence::kOptional;
  OCTAVO_TRY(const bool is_mixture, has_experts(keys));
  if (is_mixture) {
    OCTAVO_TRY(layer.feed_forward, read_experts(keys, dense.width));
  }
  return layer;
}

}  // namespace octavo
