// Gemma 2 (Gemma Team, 2024): layers with a window and layers without take turns; scores and logits have soft caps.
#include <cmath>

#include "model/architectures/architectures.h"

namespace octavo {
namespace {

constexpr int kGlobalLayerEvery = 2;
constexpr int kLayersOf27B = 46;
// The family's values, which its first files leave out.
constexpr int kWindow = 4096;
constexpr double kScoreCap = 50, kLogitCap = 30, kRopeBase = 10000;

}  // namespace

Result<void> read_gemma2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config, kRopeBase));
  AttentionSpec& attention = *layer.attention();
  OCTAVO_TRY(const double score_cap, keys.positive_or("attn_logit_softcapping", kScoreCap));
  attention.soft_cap = static_cast<float>(score_cap);
  layer.post_norms = true;
  std::get<DenseFfnSpec>(layer.feed_forward).activation = Activation::kGeluTanh;
  OCTAVO_TRY(const int count, keys.size("block_count"));
  // No key says that the 27B model scales scores by its width over its heads: it is known by its number of layers.
  if (count == kLayersOf27B) attention.scale = 1.0F / std::sqrt(static_cast<float>(config.width / attention.num_heads));
  OCTAVO_TRY(config.layers, read_equal_layers(keys, layer));
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerEvery, kWindow, config.layers));
  OCTAVO_TRY(const double logit_cap, keys.positive_or("final_logit_softcapping", kLogitCap));
  config.logit_soft_cap = static_cast<float>(logit_cap);
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  return {};
}

}  // namespace octavo
