// The models whose vectors may be cut to their first floats, because they were trained for that ("matryoshka"). No file
// says so, which is why this is a table of what the makers say.
//
// A constant; any thread.
#pragma once

#include <optional>

#include "octavo/model_info.h"

namespace octavo {

/// The fewest floats to which the model's vectors may be cut; none: they may not be cut.
std::optional<int> fewest_dimensions(const ModelInfo& info);

}  // namespace octavo
