// The models whose vectors may be cut to their first floats, because they were trained so ("matryoshka"). No file says
// it, so that this is a table of what makers say of their models.
//
// A constant; any thread.
#pragma once

#include <optional>

#include "octavo/model_info.h"

namespace octavo {

/// The fewest floats that a vector of the model still means something with; none: it is whole or nothing.
std::optional<int> fewest_dimensions(const ModelInfo& info);

}  // namespace octavo
