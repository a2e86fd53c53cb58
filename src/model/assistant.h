// An assistant and its model: a second, small model that guesses what the first one says, and whose layers read the
// first one's keys and values.
//
// Pure functions of the specs.
#pragma once

#include "model/config.h"

namespace octavo {

/// Makes the layers of an assistant read the keys and values of the model's layers: each those of the last layer of
/// its kind, with a window or without, that has its own. Error: it is an assistant of another model; says what was
/// found and what is expected.
Result<void> attach(ModelConfig& assistant, const ModelConfig& model);

}  // namespace octavo
