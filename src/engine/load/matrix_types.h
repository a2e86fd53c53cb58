// The types of a model that is quantized as it is loaded: those that a file quantized before would have.
#pragma once

#include <string>

#include "model/matrix_types.h"
#include "source/model_source.h"

namespace octavo {

/// `mix`: as for `octavo quantize` (convert/type_mix.h); empty: nothing is changed. Errors: there is no such mix;
/// weights that are quantized already.
Result<MatrixTypes> matrix_types(const ModelSource& source, const std::string& mix);

}  // namespace octavo
