// Numbers of a file that multiply rows on their way through a model.
#pragma once

#include <optional>

#include "model/architectures/model_keys.h"

namespace octavo {

/// The effect of a file's logit_scale.
enum class LogitScale : std::uint8_t { kMultiplies, kDivides };

/// The scales of embeddings, of what layers add to the stream, of scores and of logits. Those that the file lacks stay
/// as they are in `config`, whose layers must be there; so do those that are 0, as llama.cpp writes none.
Result<void> read_scales(const ModelKeys& keys, LogitScale effect, ModelConfig& config);

/// The growth of scores with the position, where the file has one. Its steps are as long as the context before it was
/// stretched, unless the file names their length.
Result<std::optional<AttentionTemperature>> read_temperature(const ModelKeys& keys, const ModelConfig& config);

}  // namespace octavo
