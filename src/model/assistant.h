// Files that draft for a model of another file: an assistant, a second, small model whose layers read the first one's
// keys and values; or the model's own draft head.
//
// Pure functions of the specs.
#pragma once

#include "model/config.h"

namespace octavo {

/// Makes each layer of an assistant read the keys and values of a model's layer: the last layer of its kind, windowed
/// or not, that has its own. Error: the assistant belongs to another model; it says what was found and what is
/// expected.
Result<void> attach(ModelConfig& assistant, const ModelConfig& model);

/// Gives a model the layer of prediction of another file, which has it alone or with the layers before it. Error: it
/// belongs to another model, or the file has none.
Result<void> take_head(ModelConfig& model, const ModelConfig& of_head);

/// Whether a file has its layer of prediction without the layers before it.
bool holds_head_alone(const ModelSource& source, const ModelConfig& config);

}  // namespace octavo
