#include "model/architectures/llama_layer.h"

#include "model/architectures/experts_keys.h"

namespace octavo {

namespace {

void make_llama(AttentionSpec& attention) {
  attention.output_bias = Presence::kOptional;
  attention.rope.layout = RopeLayout::kNeighbours;
  if (attention.rope.factors == Presence::kAbsent)
    attention.rope.factors = Presence::kOptional;  // Llama 3.1's long contexts
}

}  // namespace

Result<AttentionSpec> read_llama_attention(const ModelKeys& keys, const ModelConfig& config, int num_heads,
                                           int num_kv_heads, std::optional<double> default_rope_base) {
  OCTAVO_TRY(AttentionSpec attention, read_attention(keys, config, num_heads, num_kv_heads, default_rope_base));
  make_llama(attention);
  return attention;
}

Result<void> read_llama_feed_forward(const ModelKeys& keys, LayerSpec& layer) {
  DenseFfnSpec dense{.biases = Presence::kOptional};
  OCTAVO_TRY(dense.width, keys.size("feed_forward_length"));
  layer.feed_forward = dense;
  OCTAVO_TRY(const bool is_mixture, has_experts(keys));
  if (is_mixture) {
    OCTAVO_TRY(layer.feed_forward, read_experts(keys, dense.width));
  }
  return {};
}

Result<LayerSpec> read_llama_layer(const ModelKeys& keys, const ModelConfig& config,
                                   std::optional<double> default_rope_base) {
  OCTAVO_TRY(LayerSpec layer, read_attention_layer(keys, config, default_rope_base));
  make_llama(*layer.attention());
  OCTAVO_TRY_VOID(read_llama_feed_forward(keys, layer));
  return layer;
}

}  // namespace octavo
