// Files that draft for a model of another file: an assistant, a second, small model whose layers read the first one's
// keys and values; or the model's own draft head.
//
// Pure functions of the specs.
#pragma once

#include "model/config.h"

namespace octavo {

/// Makes the layers of an assistant read the keys and values of the model's layers: each those of the last layer of
/// its kind, with a window or without, that has its own. Error: it is an assistant of another model; says what was
/// found and what is expected.
Result<void> attach(ModelConfig& assistant, const ModelConfig& model);

/// Gives a model the layer of prediction of another file, which has the layers in front of it or has it alone. Error:
/// it is that of another model, or the file has none.
Result<void> take_head(ModelConfig& model, const ModelConfig& of_head);

/// A file without the layers in front of its layer of prediction.
bool holds_head_alone(const ModelSource& source, const ModelConfig& config);

}  // namespace octavo
