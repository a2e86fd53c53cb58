// Muse Glimmer (Meta, 2026), text: embeddings are normed; norms stand in front of the parts and behind them; a gate
// with a matrix of its own multiplies attention's result; layers that see all know no positions; logits are scaled,
// then capped. The scale of Q, which the original has beside its norm, is that norm's weights.
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"

namespace octavo {
namespace {

constexpr float kPostNormEpsilon = 1e-8F;  // post_norm_eps of the family's config.json, which no key of files has

Result<void> read_logits(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(const double scale, keys.positive("logit_scale"));
  config.logit_scale = static_cast<float>(scale);
  if (!keys.has("final_logit_softcapping")) return {};
  OCTAVO_TRY(const double cap, keys.not_negative("final_logit_softcapping"));
  config.logit_soft_cap = static_cast<float>(cap);
  return {};
}

}  // namespace

Result<void> read_muse_glimmer(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  layer.post_norms = true;
  take_no_factors_of_feed_forward(layer);
  AttentionSpec& attention = *layer.attention();
  attention.rope.layout = RopeLayout::kNeighbours;
  OCTAVO_TRY(attention.rope.base, keys.positive_or("rope.freq_base_swa", attention.rope.base));
  attention.qk_norm = Presence::kRequired;
  attention.output_gate = OutputGate{};
  config.normalizes_embedding = true;
  config.post_norm_epsilon = kPostNormEpsilon;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerOfFour, {}, config.layers));
  forget_positions_of_global_layers(config.layers);
  return read_logits(keys, config);
}

}  // namespace octavo
