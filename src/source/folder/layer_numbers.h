// Numbers that a checkpoint stores in a tensor each, and that GGUF has as keys.
#pragma once

#include "source/folder/checkpoint.h"
#include "source/folder/family.h"

namespace octavo {

/// Adds the family's numbers of layers as arrays with a number for each layer. Errors name the file and the tensor: a
/// layer lacks a number that others have, or it is no number.
Result<void> add_layer_numbers(const Checkpoint& checkpoint, const Family& family, DirectoryBuilder& out);

}  // namespace octavo
