// A non-owning view of a tensor's bytes as they lie in a GGUF file, whose mapping owns the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/to_size.h"
#include "tensor/dtype.h"

namespace octavo {

/// A matrix of `rows` rows of `cols` elements (a vector has one row); rows follow each other without gaps.
struct Tensor {
  DType type = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::span<const std::byte> data;  // bytes() of them in a map; empty where the source has no map

  std::size_t row_bytes() const {
    const DTypeInfo& info = dtype_info(type);
    return to_size(cols / info.block_elements * info.block_bytes);
  }
  /// The bytes of all weights.
  std::size_t bytes() const { return to_size(rows) * row_bytes(); }
  const std::byte* row(std::int64_t r) const { return data.data() + to_size(r) * row_bytes(); }
};

}  // namespace octavo
