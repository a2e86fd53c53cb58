// The report of `octavo info` on a file of a vision encoder.
#pragma once

#include <ostream>

#include "base/error.h"
#include "source/model_source.h"

namespace octavo::cli {

/// Prints what the encoder is and what it takes in memory, as text or as one line of JSON. Errors: a file that is no
/// encoder that Octavo knows.
Result<void> print_vision_info(const ModelSource& source, bool json, std::ostream& out);

}  // namespace octavo::cli
