// GLM-4.5 and 4.6 (Zhipu AI, 2025): a router with sigmoids and a bias for the choice, an expert for every row, and
// dense layers first. Half of each head is rotated.
#include <utility>

#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/rope_keys.h"

namespace octavo {

Result<void> read_glm4moe(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  layer.attention()->qk_norm = Presence::kOptional;
  layer.ffn_norm_is_post_attention = true;
  OCTAVO_TRY_VOID(read_rope_sections(keys, false, layer.attention()->rope));
  constexpr RouterSpec kRouter{.gate = RouterSpec::Gate::kSigmoid, .choice_bias = Presence::kOptional};
  return read_mixture_layers(keys, std::move(layer), kRouter, config);
}

}  // namespace octavo
