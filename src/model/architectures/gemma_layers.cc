#include "model/architectures/gemma_layers.h"

#include <cmath>

namespace octavo {

void make_gemma(ModelConfig& config) {
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  for (LayerSpec& layer : config.layers) {
    layer.post_norms = true;
    visit_part(layer.feed_forward, [](auto& feed_forward) { feed_forward.activation = Activation::kGeluTanh; });
  }
}

void scale_scores_of_27b(int layers_of_27b, ModelConfig& config) {
  if (config.num_layers() != layers_of_27b) return;
  for (LayerSpec& layer : config.layers) {
    AttentionSpec& attention = *layer.attention();
    attention.scale = 1.0F / std::sqrt(static_cast<float>(config.width / attention.num_heads));
  }
}

}  // namespace octavo
