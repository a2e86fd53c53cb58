// SmolLM3 (Hugging Face, 2025): Llama's layers, every fourth one without rotary positions (Yang et al., 2025).
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"

namespace octavo {
namespace {

constexpr std::size_t kUnrotatedLayerEvery = 4;  // no key of a file says so

}  // namespace

Result<void> read_smollm3(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_llama_layer(keys, config));
  layer.attention()->rope.factors = Presence::kAbsent;
  take_no_factors_of_feed_forward(layer);
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  for (std::size_t i = kUnrotatedLayerEvery - 1; i < config.layers.size(); i += kUnrotatedLayerEvery)
    config.layers[i].attention()->rope = {};
  return {};
}

}  // namespace octavo
