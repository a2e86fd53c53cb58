// Encoding of weights into the types that Octavo writes: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K,
// Q6_K. dequantize.h reads them. The bytes are the same on every processor.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "tensor/dtype.h"

namespace octavo {

/// The types that can be written, separated by ", ", for error messages.
std::string written_dtype_names();

/// Encodes a row, a whole number of blocks of `type`, into `out`, which has dtype_bytes() of the row. `importance` has
/// a positive factor of the error of each weight, or is empty where all count the same. Squares of errors count, more
/// for large weights. Errors: a weight that is not finite, or is too large for the type's scale.
Result<void> quantize(DType type, std::span<const float> row, std::span<const float> importance,
                      std::span<std::byte> out);

}  // namespace octavo
