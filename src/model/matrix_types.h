// Types that matrices of a model are given as they are loaded.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tensor/dtype.h"

namespace octavo {

/// Matrices, by their tensors' names, that have another type in memory than in the file.
using MatrixTypes = std::map<std::string, DType, std::less<>>;

}  // namespace octavo
