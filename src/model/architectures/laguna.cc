// Laguna (Poolside, 2026): a gate by softplus of attention's result, a router by sigmoids with a bias for the choice,
// an expert for every row, and dense layers in front. Of each four layers the first sees all, if there are windows; the
// others may have more heads, and their positions are not stretched.
#include "base/to_size.h"
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
  LayerSpec layer;
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kRequired};
  OCTAVO_TRY(layer.feed_forward, read_experts_and_shared(keys, kRouter, SumsToOne::kByKey));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  const int num_layers = config.num_layers();
  OCTAVO_TRY(const std::vector<int> heads, keys.sizes("attention.head_count", num_layers));
  OCTAVO_TRY(const std::vector<int> kv_heads, keys.sizes("attention.head_count_kv", num_layers));
  for (int i = 0; i < num_layers; ++i) {
    OCTAVO_TRY(AttentionSpec attention, read_attention(keys, config, heads[to_size(i)], kv_heads[to_size(i)], {}));
    attention.qk_norm = Presence::kRequired;
    attention.output_gate = gate_of(keys, i, attention);
    config.layers[to_size(i)].mixer = attention;
  }
  OCTAVO_TRY(const bool is_windowed, has_windows(keys));
  if (is_windowed)
    OCTAVO_TRY_VOID(read_windows_of_plain_positions(keys, kGlobalLayerOfFour, config.layers, GlobalLayer::kFirst));
  OCTAVO_TRY_VOID(read_leading_dense_layers(keys, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
