// ERNIE 4.5 with experts (Baidu, 2025): in some models a bias for the choice, an expert for every row, dense layers
// first, and perhaps others between the mixtures.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {

Result<void> read_ernie4_5_moe(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.attention()->rope.layout = RopeLayout::kNeighbours;
  layer.attention()->output_bias = Presence::kOptional;
  constexpr RouterSpec kRouter{.choice_bias = Presence::kOptional};
  OCTAVO_TRY(layer.feed_forward, read_experts_and_shared(keys, kRouter, SumsToOne::kAlways));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY_VOID(read_leading_dense_layers(keys, config));
  OCTAVO_TRY(const int step, keys.size_or("interleave_moe_layer_step", 1));
  OCTAVO_TRY_VOID(make_dense(keys, [step](int index) { return (index + 1) % step != 0; }, config));
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
