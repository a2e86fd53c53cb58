// Hunyuan 3 (Tencent, 2026): a router by sigmoids with a bias for the choice, an expert for every row, and dense layers
// in front, which no key counts.
#include "base/to_size.h"
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "source/tensor_names.h"

namespace octavo {

Result<void> read_hy_v3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.attention()->qk_norm = Presence::kRequired;
  constexpr RouterSpec kRouter{
      .gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kOptional, .choice_bias_is_bare = true};
  OCTAVO_TRY(layer.feed_forward, read_experts_and_shared(keys, kRouter, SumsToOne::kByKey));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  for (int i = 0; i < config.num_layers(); ++i) {
    auto& of_layer = std::get<ExpertsFfnSpec>(config.layers[to_size(i)].feed_forward);
    const bool has_shared = has_layer_tensor(keys, i, tensor_names::kGateOfSharedExpert);
    if (of_layer.shared_width == 0 && has_shared)
      of_layer.shared_width = of_layer.width;  // as wide as another, without a key
  }
  return make_dense(keys, [&](int index) { return !has_layer_tensor(keys, index, tensor_names::kRouter); }, config);
}

}  // namespace octavo
