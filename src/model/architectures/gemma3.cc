// Gemma 3, text (Gemma Team, 2025): five layers with a window, then one without a window.
#include "model/architectures/architectures.h"
#include "model/architectures/gemma_layers.h"

namespace octavo {
namespace {

constexpr int kGlobalLayerEvery = 6;
constexpr double kLocalRopeBase = 10000.0;  // for files without rope.freq_base_swa, which most lack
constexpr int kLayersOf27B = 62;

}  // namespace

Result<void> read_gemma3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec global, read_dense_layer(keys, config));
  global.attention()->qk_norm = Presence::kRequired;
  OCTAVO_TRY_VOID(read_equal_layers(keys, global, config));
  make_gemma(config);
  take_no_factors_of_feed_forwards(config);
  scale_scores_of_27b(kLayersOf27B, config);
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerEvery, {}, config.layers));
  OCTAVO_TRY(const double local_base, keys.positive_or("rope.freq_base_swa", kLocalRopeBase));
  for (LayerSpec& layer : config.layers) {
    AttentionSpec& attention = *layer.attention();
    attention.joins_pictures = true;
    if (attention.window == 0) continue;
    attention.rope.base = local_base;
    attention.rope.scaling = {};
  }
  return {};
}

}  // namespace octavo
