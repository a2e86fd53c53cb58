// Packs weights of a GGUF file into the kernels' panels (packed_layout.h). Pure functions; any thread packs any panel.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/packed_layout.h"
#include "tensor/tensor.h"

namespace octavo {

/// The number of panels of a matrix of `rows` rows; the last one may be partly padding.
inline std::int64_t num_panels(std::int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

/// The bytes of a packed matrix: the file's bytes, and padding.
std::size_t packed_bytes(DType type, std::int64_t rows, std::int64_t cols);

/// Packs panels `begin` .. `end` of `source` to `packed`, one after another, and writes every byte of them. Rows of
/// padding have scales of zero. Only some types have the order kOutputs (output_order.h).
void pack_panels(const Tensor& source, std::int64_t begin, std::int64_t end, std::uint8_t* packed,
                 PanelOrder order = PanelOrder::kQuads);

}  // namespace octavo
