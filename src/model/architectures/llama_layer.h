// The layer of Llama, and of those that took it over.
#pragma once

#include <optional>

#include "model/architectures/model_keys.h"

namespace octavo {

/// Neighbours rotate, frequencies may have factors, projections may have biases, and the feed-forward is a mixture of
/// its width where the file has experts. `default_rope_base`: for families whose files leave it out; none: it must be
/// there.
Result<LayerSpec> read_llama_layer(const ModelKeys& keys, const ModelConfig& config,
                                   std::optional<double> default_rope_base = {});
/// The feed-forward of such a layer.
Result<void> read_llama_feed_forward(const ModelKeys& keys, LayerSpec& layer);
/// The attention of such a layer.
Result<AttentionSpec> read_llama_attention(const ModelKeys& keys, const ModelConfig& config, int num_heads,
                                           int num_kv_heads, std::optional<double> default_rope_base);

}  // namespace octavo
