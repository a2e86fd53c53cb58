// How a file describes multi-head latent attention.
#pragma once

#include <optional>

#include "model/architectures/model_keys.h"

namespace octavo {

/// The layer with such attention, whose rotated parts have the layout; the family sets the feed-forward. Files have the
/// products of heads in a tensor each, and keys for both forms of a head, or in one tensor and keys for the original
/// form alone. `default_rope_base`: for families whose files leave rope.freq_base out; none: it must be there.
Result<LayerSpec> read_latent_layer(const ModelKeys& keys, const ModelConfig& config, RopeLayout layout,
                                    std::optional<double> default_rope_base = {});

}  // namespace octavo
