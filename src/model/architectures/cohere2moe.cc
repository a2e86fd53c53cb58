// Command with experts (Cohere, 2026: North): the feed-forward reads what attention reads, and the mean of a mixture
// and of an expert for every row is its result. Of each four layers the first sees all, and knows no positions but in
// the dense layers in front.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {
namespace {

constexpr float kMeanOfTwo = 0.5F;

Result<ExpertsFfnSpec> read_mixture(const ModelKeys& keys) {
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid};
  OCTAVO_TRY(ExpertsFfnSpec experts, read_experts_and_shared(keys, kRouter, SumsToOne::kByKey));
  if (experts.shared_width > 0) experts.sum_scale = kMeanOfTwo;
  return experts;
}

}  // namespace

Result<void> read_cohere2moe(const ModelKeys& keys, ModelConfig& config) {
  if (!keys.has("attention.layer_norm_rms_epsilon")) config.norm = NormKind::kLayer;
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.is_parallel = true;
  layer.attention()->rope.layout = RopeLayout::kNeighbours;
  layer.attention()->output_bias = Presence::kOptional;
  OCTAVO_TRY(layer.feed_forward, read_mixture(keys));
  OCTAVO_TRY(const double scale, keys.positive("logit_scale"));
  config.logit_scale = static_cast<float>(scale);
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY_VOID(read_leading_dense_layers(keys, config));
  OCTAVO_TRY_VOID(read_windows(keys, kGlobalLayerOfFour, {}, config.layers, GlobalLayer::kFirst));
  for (LayerSpec& each : config.layers)
    if (std::holds_alternative<ExpertsFfnSpec>(each.feed_forward) && each.attention()->window == 0)
      each.attention()->rope = {};
  return {};
}

}  // namespace octavo
