// Numbers of a file that multiply rows on their way through a model.
#pragma once

#include <optional>

#include "model/architectures/model_keys.h"

namespace octavo {

/// The scales of embeddings, of what layers add to the stream, of scores and of logits, which the file's number
/// divides. Those that the file lacks stay as they are in `config`, whose layers must be there; so do those that are 0,
/// as llama.cpp writes none.
Result<void> read_scales(const ModelKeys& keys, ModelConfig& config);

/// The scales that MiniCPM's files leave out. The layers must be there.
void set_scales_of_minicpm(ModelConfig& config);

/// The growth of scores with the position, where the file has one. Its steps are as long as the context before it was
/// stretched, unless the file names their length.
Result<std::optional<AttentionTemperature>> read_temperature(const ModelKeys& keys, const ModelConfig& config);

}  // namespace octavo
