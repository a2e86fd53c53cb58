// Gemma 2 (Gemma Team, 2024): layers with a window and layers without take turns; scores and logits have soft caps.
#include "model/architectures/architectures.h"
#include "model/architectures/gemma_layers.h"

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
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  make_gemma(config);
  take_no_factors_of_feed_forwards(config);
  scale_scores_of_27b(kLayersOf27B, config);
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerEvery, kWindow, config.layers));
  OCTAVO_TRY(const double logit_cap, keys.positive_or("final_logit_softcapping", kLogitCap));
  config.logit_soft_cap = static_cast<float>(logit_cap);
  return {};
}

}  // namespace octavo
