// Packs weights of a GGUF file into the kernels' panels (packed_layout.h). Pure functions; any thread packs any panel.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/packed_layout.h"
#include "tensor/tensor.h"

namespace octavo {

/// Panels of a matrix of `rows` rows; the last may be partly padding.
inline std::int64_t num_panels(std::int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

/// Bytes of a packed matrix. Equal to the file's but for padding.
std::size_t packed_bytes(DType type, std::int64_t rows, std::int64_t cols);

/// Packs panels `begin` .. `end` of `source` to `packed`, one after another; every byte of them is written. Rows of
/// padding have scales of zero.
void pack_panels(const Tensor& source, std::int64_t begin, std::int64_t end, std::uint8_t* packed);

}  // namespace octavo
