// The parts that encoders have in common: models whose rows see each other both ways, and that make vectors and scores
// of texts.
#pragma once

#include "model/architectures/model_keys.h"

namespace octavo {

/// Makes a model an encoder: its rows see those behind them, and nothing is drawn.
void make_encoder(ModelConfig& config);

/// The first encoders (Devlin et al., 2019): LayerNorm behind each sum and behind the embedding, parts of a pair with
/// an embedding of their own. Positions are rotated where `has_rope`, and learned otherwise.
Result<LayerSpec> read_bert_layer(const ModelKeys& keys, ModelConfig& config, bool has_rope);

/// Reads the keys that every file may have: `attention.causal`, `pooling_type`, and the head that its tensors show. The
/// layers are read before.
Result<void> read_vectors(const ModelKeys& keys, ModelConfig& config);

}  // namespace octavo
