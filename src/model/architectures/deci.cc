// DeciLM, and the models that NVIDIA's search made from Llama's (Bercovich et al., 2024: Puzzle;
// Llama-3.1-Nemotron-51B, Llama-3.3-Nemotron-Super-49B): Llama's layers, each of which has its own sizes of attention
// and feed-forward, or lacks them.
//
// llama.cpp leaves a layer without a feed-forward out, its attention too. The original adds that to the stream, and so
// does Octavo; in published files such layers have neither.
#include <algorithm>

#include "base/to_size.h"
#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"

namespace octavo {
namespace {

/// Reads a layer, without the parts whose size is 0.
Result<LayerSpec> read_layer(const ModelKeys& keys, const ModelConfig& config, int num_heads, int num_kv_heads,
                             int ffn_width) {
  LayerSpec layer{.mixer = NoPart(), .feed_forward = NoPart()};
  if (ffn_width > 0) layer.feed_forward = DenseFfnSpec{.width = ffn_width, .biases = Presence::kOptional};
  if (num_heads == 0) return layer;
  if (num_kv_heads == 0)
    return fail("{}: {} is 0 for a layer with {} heads: a matrix in the place of attention is not supported",
                keys.path(), keys.key("attention.head_count_kv"), num_heads);
  OCTAVO_TRY(layer.mixer, read_llama_attention(keys, config, num_heads, num_kv_heads, 10000.0));
  return layer;
}

}  // namespace

Result<void> read_deci(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_equal_layers(keys, {}, config));
  const int num_layers = config.num_layers();
  OCTAVO_TRY(const std::vector<int> heads, keys.sizes("attention.head_count", num_layers, 0));
  OCTAVO_TRY(const std::vector<int> kv_heads, keys.sizes("attention.head_count_kv", num_layers, 0));
  OCTAVO_TRY(const std::vector<int> widths, keys.sizes("feed_forward_length", num_layers, 0));
  if (std::ranges::count(heads, 0) == num_layers)
    return fail("{}: {} is 0 for all {} layers, expected one that attends at least", keys.path(),
                keys.key("attention.head_count"), num_layers);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    OCTAVO_TRY(config.layers[i], read_layer(keys, config, heads[i], kv_heads[i], widths[i]));
  }
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo
