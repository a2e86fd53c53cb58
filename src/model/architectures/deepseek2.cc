// DeepSeek V2 and V3 (DeepSeek-AI, 2024), GLM-4.7-Flash (Zhipu AI, 2026), Kimi K2 (Moonshot AI, 2025) and Mistral 4
// (Mistral AI, 2026): latent attention, and a mixture with an expert for every row behind some dense layers.
#include <utility>

#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"
#include "model/architectures/latent_keys.h"
#include "model/architectures/scale_keys.h"

namespace octavo {
namespace {

/// Files without the key have softmax, but for the first ones of GLM-4.7-Flash, which their words and layers tell.
Result<RouterSpec::Gate> gate_without_key(const ModelKeys& keys, const ModelConfig& config) {
  constexpr int kWords = 154'880, kLayers = 47;  // a layer of prediction may be counted
  OCTAVO_TRY(const int num_in_file, keys.size("block_count"));
  const bool is_flash = config.vocab_size == kWords && (num_in_file == kLayers || num_in_file == kLayers + 1);
  return is_flash ? RouterSpec::Gate::kSigmoid : RouterSpec::Gate::kSoftmax;
}

}  // namespace

Result<void> read_deepseek2(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_latent_layer(keys, config, RopeLayout::kNeighbours));
  OCTAVO_TRY(layer.attention()->temperature, read_temperature(keys, config));
  OCTAVO_TRY(const bool is_mixture, has_experts(keys));
  if (is_mixture) {
    RouterSpec router{.choice_bias = Presence::kOptional};
    OCTAVO_TRY(router.gate, gate_without_key(keys, config));
    return read_mixture_layers(keys, std::move(layer), router, config);
  }
  DenseFfnSpec dense{.has_factors = false};
  OCTAVO_TRY(dense.width, keys.size("feed_forward_length"));
  layer.feed_forward = dense;
  return read_equal_layers(keys, layer, config);
}

}  // namespace octavo
