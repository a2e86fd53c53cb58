// Encoding of weights into the types that Octavo writes: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K,
// Q6_K. dequantize.h reads them. The bytes are the same on every processor.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "tensor/dtype.h"

namespace octavo {

bool can_quantize(DType type);
/// The types that can be written, separated by ", ", for error messages.
std::string written_dtype_names();

/// Encodes a row, a whole number of blocks of `type`, into `out`, which has dtype_bytes() of it. `importance`: how much
/// the error of each weight counts, positive, as many as the row has; or none, if all count the same. Of errors the
/// square counts, more for large weights. Errors: a weight is not finite, or too large for the type's scale.
Result<void> quantize(DType type, std::span<const float> row, std::span<const float> importance,
                      std::span<std::byte> out);

}  // namespace octavo
