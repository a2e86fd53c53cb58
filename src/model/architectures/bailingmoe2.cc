// Ling and Ring 2 (inclusionAI, 2025): a router by sigmoids with a bias for the choice and groups of experts, an expert
// for every row, and dense layers in front. A part of each head is rotated; files have Q, K and V in one tensor.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {

Result<void> read_bailingmoe2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.attention()->qk_norm = Presence::kRequired;
  OCTAVO_TRY_VOID(keys.size("expert_gating_func"));  // no default fits
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kOptional};
  OCTAVO_TRY(layer.feed_forward, read_experts_and_shared(keys, kRouter, SumsToOne::kByKey));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY_VOID(read_leading_dense_layers(keys, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
