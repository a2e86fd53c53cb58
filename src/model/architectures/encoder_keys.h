// The parts that encoders have in common: models whose rows see each other both ways, and that make vectors and scores
// of texts.
#pragma once

#include "model/architectures/model_keys.h"

namespace octavo {

/// Makes a model an encoder: its rows see the rows after them too, and no token is drawn.
void make_encoder(ModelConfig& config);

/// Reads a layer of the first encoders (Devlin et al., 2019): LayerNorm after each sum and after the embedding, and an
/// embedding for each text of a pair. Positions are rotated where `has_rope`, and learned otherwise.
Result<LayerSpec> read_bert_layer(const ModelKeys& keys, ModelConfig& config, bool has_rope);

/// Reads the keys that every file may have: `attention.causal`, `pooling_type`, and the head, which its tensors show.
/// The layers must be read before.
Result<void> read_vectors(const ModelKeys& keys, ModelConfig& config);

}  // namespace octavo
