#include "model/architectures/lfm2_layers.h"

#include "base/to_size.h"
#include "model/architectures/recurrence_keys.h"

namespace octavo {
namespace {

Result<AttentionSpec> read_lfm2_attention(const ModelKeys& keys, const ModelConfig& config, int num_heads,
                                          int num_kv_heads) {
  OCTAVO_TRY_VOID(expect_heads(keys, num_heads, num_kv_heads));
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
  ShortConvSpec convolution{.width = config.width};
  OCTAVO_TRY(convolution.taps, read_taps(keys, "shortconv.l_cache"));
  OCTAVO_TRY_VOID(expect_attention(keys, kv_heads));
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
