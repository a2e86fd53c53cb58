// The matrix types of a model that is quantized while it is loaded: the same as in a file that was quantized before.
#pragma once

#include <string>

#include "model/matrix_types.h"
#include "source/model_source.h"

namespace octavo {

/// `mix`: as in `octavo quantize` (convert/type_mix.h); empty: types stay. Errors: there is no such mix; the weights
/// are quantized already.
Result<MatrixTypes> matrix_types(const ModelSource& source, const std::string& mix);

}  // namespace octavo
