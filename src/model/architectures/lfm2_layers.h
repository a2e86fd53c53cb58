// The layers of LFM2 (Liquid AI, 2025): short convolutions, and among them some of full attention.
#pragma once

#include "model/architectures/model_keys.h"

namespace octavo {

/// Fills config.layers, all with a dense feed-forward, and names the last norm as these files do.
Result<void> read_lfm2_layers(const ModelKeys& keys, ModelConfig& config);

}  // namespace octavo
