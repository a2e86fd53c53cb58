// Ling and Ring 2 (inclusionAI, 2025): a router by sigmoids with a bias for the choice and groups of experts, an expert
// for every row, and dense layers in front. A part of each head is rotated; files have Q, K and V in one tensor.
#include <utility>

#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {

Result<void> read_bailingmoe2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.attention()->qk_norm = Presence::kRequired;
  OCTAVO_TRY_VOID(keys.size("expert_gating_func"));  // no default fits
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kOptional};
  return read_mixture_layers(keys, std::move(layer), kRouter, config);
}

}  // namespace octavo
