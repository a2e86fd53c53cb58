// The types that matrices of a model get when they are loaded.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tensor/dtype.h"

namespace octavo {

/// Types by tensors' names of the matrices that have another type in memory than in the file.
using MatrixTypes = std::map<std::string, DType, std::less<>>;

}  // namespace octavo
