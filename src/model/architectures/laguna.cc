// Laguna (Poolside, 2026): a gate by softplus of attention's result, a router by sigmoids with a bias for the choice,
// an expert for every row, and dense layers in front. Of each four layers the first sees all, if there are windows; the
// others may have more heads, and their positions are not stretched.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

/// The rows of the gate's matrix tell whether a head has one number or one for each of its elements.
OutputGate gate_of(const ModelKeys& keys, int layer, const AttentionSpec& attention) {
  const SourceTensor* gate = keys.source().find_tensor(tensor_names::of_layer(layer, tensor_names::kGateOfMixer));
  const bool is_of_elements = gate != nullptr && gate->tensor.rows == attention.result_width();
  return {.function = GateFunction::kSoftplus, .is_of_heads = !is_of_elements};
}

}  // namespace

Result<void> read_laguna(const ModelKeys& keys, ModelConfig& config) {
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kRequired};
  OCTAVO_TRY_VOID(read_mixture_layers(keys, {}, kRouter, config));
  OCTAVO_TRY(std::vector<AttentionSpec> attentions, read_attentions(keys, config));
  for (std::size_t i = 0; i < attentions.size(); ++i) {
    attentions[i].qk_norm = Presence::kRequired;
    attentions[i].output_gate = gate_of(keys, static_cast<int>(i), attentions[i]);
    config.layers[i].mixer = attentions[i];
  }
  OCTAVO_TRY(const bool is_windowed, has_windows(keys));
  return is_windowed ? read_windows_of_plain_positions(keys, kGlobalLayerOfFour, config.layers, GlobalLayer::kFirst)
                     : Result<void>();
}

}  // namespace octavo
