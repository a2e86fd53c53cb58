#include "model/architectures/qwen35_layers.h"

#include <algorithm>

#include "base/to_size.h"
#include "model/architectures/recurrence_keys.h"
#include "model/architectures/rope_keys.h"

namespace octavo {
namespace {

constexpr int kAttentionEvery = 4;  // where a file does not say

Result<DeltaSpec> read_delta(const ModelKeys& keys) {
  DeltaSpec delta;
  OCTAVO_TRY(delta.num_key_heads, keys.size("ssm.group_count"));
  OCTAVO_TRY(delta.num_value_heads, keys.size("ssm.time_step_rank"));
  if (delta.num_value_heads % delta.num_key_heads != 0)
    return fail("{}: {} is {}, not a multiple of {}, which is {}", keys.path(), keys.key("ssm.time_step_rank"),
                delta.num_value_heads, keys.key("ssm.group_count"), delta.num_key_heads);
  OCTAVO_TRY(delta.key_dim, keys.size("ssm.state_size"));
  OCTAVO_TRY_VOID(check_state_dim(keys, "ssm.state_size", delta.key_dim));
  OCTAVO_TRY(const int inner, keys.size("ssm.inner_size"));
  if (inner % delta.num_value_heads != 0)
    return fail("{}: {} is {}, not a multiple of {}, which is {}", keys.path(), keys.key("ssm.inner_size"), inner,
                keys.key("ssm.time_step_rank"), delta.num_value_heads);
  delta.value_dim = inner / delta.num_value_heads;
  OCTAVO_TRY_VOID(check_state_dim(keys, "ssm.inner_size", delta.value_dim));
  if (std::int64_t{2} * delta.num_key_heads * delta.key_dim + inner > kMaxModelSize)
    return fail("{}: {} is {} and {} is {}: with {} they make more than {} channels", keys.path(),
                keys.key("ssm.group_count"), delta.num_key_heads, keys.key("ssm.state_size"), delta.key_dim,
                keys.key("ssm.inner_size"), kMaxModelSize);
  OCTAVO_TRY(delta.taps, read_taps(keys, "ssm.conv_kernel"));
  return delta;
}

/// [num_layers] of the model, whether each is recurrent.
Result<std::vector<bool>> read_recurrent_layers(const ModelKeys& keys, int num_layers) {
  std::vector<bool> is_recurrent(to_size(num_layers));
  if (keys.has("attention.recurrent_layers")) {
    OCTAVO_TRY(is_recurrent, keys.flags("attention.recurrent_layers", num_layers));
  } else {
    OCTAVO_TRY(const int interval, keys.size_or("full_attention_interval", kAttentionEvery));
    for (int i = 0; i < num_layers; ++i) is_recurrent[to_size(i)] = (i + 1) % interval != 0;
  }
  if (std::ranges::find(is_recurrent, false) == is_recurrent.end())
    return fail("{}: all {} layers are recurrent, expected one of full attention at least", keys.path(), num_layers);
  return is_recurrent;
}

/// Sets the properties of attention that all of these models have.
void finish(LayerSpec& layer) {
  layer.attention()->qk_norm = Presence::kRequired;
  layer.attention()->gated_output = true;
  layer.ffn_norm_is_post_attention = true;
}

}  // namespace

Result<void> read_qwen35_layers(const ModelKeys& keys, LayerSpec layer, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_rope_sections(keys, true, layer.attention()->rope));
  OCTAVO_TRY_VOID(read_delta_layers(keys, layer, false, config));
  if (config.num_skipped_layers != 1) return {};
  finish(layer);
  config.prediction_layer = layer;
  return {};
}

Result<void> read_delta_layers(const ModelKeys& keys, LayerSpec layer, bool by_key_head, ModelConfig& config) {
  finish(layer);
  OCTAVO_TRY(DeltaSpec delta, read_delta(keys));
  delta.by_key_head = by_key_head;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(const std::vector<bool> is_recurrent, read_recurrent_layers(keys, config.num_layers()));
  for (std::size_t i = 0; i < is_recurrent.size(); ++i)
    if (is_recurrent[i]) config.layers[i].mixer = delta;
  return {};
}

}  // namespace octavo
