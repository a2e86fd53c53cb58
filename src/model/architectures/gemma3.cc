// Gemma 3, text (Gemma Team, 2025): five layers with a window, then one that looks back all the way.
#include <cmath>

#include "base/to_size.h"
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

  OCTAVO_TRY(const int window, keys.size("attention.sliding_window"));
  OCTAVO_TRY(const int every, keys.size_or("attention.sliding_window_pattern", kGlobalLayerEvery));
  if (every != kGlobalLayerEvery)
    return fail("{}: {} is {}, expected {}", keys.path(), keys.key("attention.sliding_window_pattern"), every,
                kGlobalLayerEvery);
  OCTAVO_TRY(const double local_base, keys.positive_or("rope.freq_base_swa", kLocalRopeBase));
  for (int i = 0; i < config.num_layers(); ++i) {
    if ((i + 1) % kGlobalLayerEvery == 0) continue;
    AttentionSpec& attention = *config.layers[to_size(i)].attention();
    attention.window = window;
    attention.rope.base = local_base;
    attention.rope.scaling = {};
  }
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  return {};
}

}  // namespace octavo
