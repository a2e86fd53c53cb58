// LFM2 and LFM2.5 (Liquid AI, 2025): dense ones, and ones with experts, which a router chooses by sigmoids and a bias.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/lfm2_layers.h"

namespace octavo {

Result<void> read_lfm2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_lfm2_layers(keys, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

Result<void> read_lfm2moe(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_lfm2_layers(keys, config));
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kRequired};
  OCTAVO_TRY(const ExpertsFfnSpec experts, read_routed_experts(keys, width, kRouter, SumsToOne::kAlways));
  for (LayerSpec& layer : config.layers) layer.feed_forward = experts;
  OCTAVO_TRY_VOID(read_leading_dense_layers(keys, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
