// The layers of Qwen 3.5 and 3.6: gated delta nets, and after every three of them a layer of full attention with a
// gated output.
//
// Text has one position a token, so that the sections of rope.dimension_sections, which are for images, turn alike. Key
// heads serve value heads in turn (DeltaSpec), because the converter of llama.cpp has put these into that order.
#pragma once

#include "model/architectures/model_keys.h"

namespace octavo {

/// Fills config.layers, all with the feed-forward of `layer`, whose attention is as read_attention_layer() gives it.
Result<void> read_qwen35_layers(const ModelKeys& keys, LayerSpec layer, ModelConfig& config);

/// Fills config.layers in the same way without sections of positions and layers of prediction. `by_key_head`: as in
/// DeltaSpec.
Result<void> read_delta_layers(const ModelKeys& keys, LayerSpec layer, bool by_key_head, ModelConfig& config);

}  // namespace octavo
