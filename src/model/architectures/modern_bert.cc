// ModernBERT (Warner et al., 2024): norms before the parts, rotary positions, gated feed-forwards without biases, and
// two windowed layers after each layer that sees the whole text.
#include "model/architectures/architectures.h"
#include "model/architectures/encoder_keys.h"

namespace octavo {
namespace {

constexpr int kGlobalLayerEvery = 3;  // the first of three

Result<void> read_windows_behind_global(const ModelKeys& keys, ModelConfig& config) {
  if (!keys.has("attention.sliding_window")) return {};
  OCTAVO_TRY(const int window, keys.count("attention.sliding_window"));
  if (window == 0) return {};
  OCTAVO_TRY(const int every, keys.has("attention.sliding_window_pattern")
                                  ? keys.size("attention.sliding_window_pattern")
                                  : Result<int>(kGlobalLayerEvery));
  OCTAVO_TRY(const double local_base, keys.positive_or("rope.freq_base_swa", config.layers[0].attention()->rope.base));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if (i % to_size(every) == 0) continue;
    config.layers[i].attention()->window = window;
    config.layers[i].attention()->rope.base = local_base;
  }
  return {};
}

Result<Activation> read_activation(const ModelKeys& keys) {
  constexpr std::string_view kActivation = "hidden_activation";
  if (!keys.has(kActivation)) return Activation::kGelu;
  OCTAVO_TRY(const std::string_view name, keys.text(kActivation));
  if (name == "gelu") return Activation::kGelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  return fail("{}: {} is {}, supported are: gelu, silu", keys.path(), keys.key(kActivation), name);
}

}  // namespace

Result<void> read_modern_bert(const ModelKeys& keys, ModelConfig& config) {
  config.norm = NormKind::kLayer;
  config.embedding_norm = Presence::kRequired;
  config.head.pooling = Pooling::kMean;
  config.head.gelu = true;
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.gate_in_up = true;
  OCTAVO_TRY(dense.activation, read_activation(keys));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  config.layers[0].mixer_norm = Presence::kOptional;  // the embedding has just been normed
  OCTAVO_TRY_VOID(read_windows_behind_global(keys, config));
  make_encoder(config);
  return {};
}

}  // namespace octavo
