// Gemma 3, text (Gemma Team, 2025): five layers with a window, then one that looks back all the way.
#include <cmath>

#include "model/architectures/architectures.h"

namespace octavo {
namespace {

constexpr int kGlobalLayerEvery = 6;
constexpr double kLocalRopeBase = 10000.0;  // files in use leave rope.freq_base_swa out
constexpr int kLayersOf27B = 62;

}  // namespace

Result<void> read_gemma3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec global, read_dense_layer(keys, config));
  global.attention()->qk_norm = Presence::kRequired;
  global.post_norms = true;
  std::get<DenseFfnSpec>(global.feed_forward).activation = Activation::kGeluTanh;
  OCTAVO_TRY(config.layers, read_equal_layers(keys, global));
  // No key says that the 27B model scales scores by its width over its heads: it is known by its number of layers.
  if (config.num_layers() == kLayersOf27B) {
    const auto width = static_cast<float>(config.width / global.attention()->num_heads);
    for (LayerSpec& layer : config.layers) layer.attention()->scale = 1.0F / std::sqrt(width);
  }

  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerEvery, {}, config.layers));
  OCTAVO_TRY(const double local_base, keys.positive_or("rope.freq_base_swa", kLocalRopeBase));
  for (LayerSpec& layer : config.layers) {
    AttentionSpec& attention = *layer.attention();
    if (attention.window == 0) continue;
    attention.rope.base = local_base;
    attention.rope.scaling = {};
  }
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  return {};
}

}  // namespace octavo
