// gpt-oss (OpenAI, 2025): 20b and 120b. Every second layer has a window, heads have sinks, and each projection, the
// router and the experts have biases.
#include "model/architectures/architectures.h"
#include "model/architectures/experts_keys.h"

namespace octavo {
namespace {

constexpr int kGlobalLayerEvery = 2;

}  // namespace

Result<void> read_gpt_oss(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config));
  AttentionSpec& attention = *layer.attention();
  attention.qkv_bias = Presence::kRequired;
  attention.output_bias = Presence::kRequired;
  attention.sinks = Presence::kRequired;
  // The original does not round the ends of YaRN's ramp ("truncate": false); no key of a file says so.
  if (attention.rope.scaling.yarn) attention.rope.scaling.yarn->whole_pairs = false;
  layer.ffn_norm_is_post_attention = true;
  OCTAVO_TRY(const int width, keys.size("expert_feed_forward_length"));
  OCTAVO_TRY(ExpertsFfnSpec experts, read_experts(keys, width));
  experts.activation = Activation::kClampedSwiglu;
  experts.biases = Presence::kRequired;
  experts.has_factors = false;  // llama.cpp's graph has no factors
  layer.feed_forward = experts;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  return read_windows(keys, kGlobalLayerEvery, {}, config.layers);
}

}  // namespace octavo
