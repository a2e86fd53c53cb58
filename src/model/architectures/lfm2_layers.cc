#include "model/architectures/lfm2_layers.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

Result<ShortConvSpec> read_short_conv(const ModelKeys& keys, const ModelConfig& config) {
  ShortConvSpec convolution{.width = config.width};
  OCTAVO_TRY(convolution.taps, keys.size("shortconv.l_cache"));
  if (convolution.taps < 2 || convolution.taps > kMaxConvolutionTaps)
    return fail("{}: {} is {}, expected 2 to {}", keys.path(), keys.key("shortconv.l_cache"), convolution.taps,
                kMaxConvolutionTaps);
  return convolution;
}

Result<AttentionSpec> read_lfm2_attention(const ModelKeys& keys, const ModelConfig& config, int num_heads,
                                          int num_kv_heads) {
  if (num_heads == 0)
    return fail("{}: {} is 0 for a layer with {} KV heads", keys.path(), keys.key("attention.head_count"),
                num_kv_heads);
  OCTAVO_TRY(AttentionSpec attention, read_attention(keys, config, num_heads, num_kv_heads, {}));
  attention.qk_norm = Presence::kRequired;
  return attention;
}

/// Later files have a window, which all layers that attend have unless there is a pattern.
Result<void> read_lfm2_windows(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(const bool is_given, has_windows(keys));
  if (!is_given) return {};
  OCTAVO_TRY(const int window, keys.size("attention.sliding_window"));
  OCTAVO_TRY(const std::vector<bool> is_windowed, read_window_pattern(keys, 0, config.num_layers()));
  for (std::size_t i = 0; i < is_windowed.size(); ++i)
    if (AttentionSpec* attention = config.layers[i].attention(); attention != nullptr && is_windowed[i])
      attention->window = window;
  return {};
}

}  // namespace

Result<void> read_lfm2_layers(const ModelKeys& keys, ModelConfig& config) {
  config.output_norm_is_embedding_norm = true;
  OCTAVO_TRY_VOID(read_equal_layers(keys, {}, config));
  const int num_layers = config.num_layers();
  OCTAVO_TRY(const std::vector<int> heads, keys.sizes("attention.head_count", num_layers, 0));
  OCTAVO_TRY(const std::vector<int> kv_heads, keys.sizes("attention.head_count_kv", num_layers, 0));
  OCTAVO_TRY(const std::vector<int> widths, keys.sizes("feed_forward_length", num_layers));
  OCTAVO_TRY(const ShortConvSpec convolution, read_short_conv(keys, config));
  if (std::ranges::count(kv_heads, 0) == num_layers)
    return fail("{}: {} is 0 for all {} layers, expected one that attends at least", keys.path(),
                keys.key("attention.head_count_kv"), num_layers);
  for (std::size_t i = 0; i < kv_heads.size(); ++i) {
    LayerSpec& layer = config.layers[i];
    layer.feed_forward = DenseFfnSpec{.width = widths[i], .has_factors = false};  // llama.cpp's graph has none
    if (kv_heads[i] == 0) {
      layer.mixer = convolution;
    } else {
      OCTAVO_TRY(layer.mixer, read_lfm2_attention(keys, config, heads[i], kv_heads[i]));
    }
  }
  return read_lfm2_windows(keys, config);
}

}  // namespace octavo
