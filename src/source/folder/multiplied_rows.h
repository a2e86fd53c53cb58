// Rows that a checkpoint stores and GGUF has multiplied by numbers of config.json (Falcon-H1).
#pragma once

#include <vector>

#include "source/folder/stored_rows.h"
#include "tensor/dtype.h"

namespace octavo {

/// So many rows of a tensor, and what they are multiplied by.
struct RowFactor {
  std::uint64_t rows;
  float factor;
};

class MultipliedRows final : public StoredRows {
 public:
  /// All of a tensor of floats, whose rows take `row_bytes`, as `factors` say from the first row on.
  MultipliedRows(const CheckpointTensor& tensor, const PieceOrder& order, std::uint64_t piece_bytes, DType type,
                 std::uint64_t row_bytes, std::vector<RowFactor> factors);

  /// The products are rounded to the stored type.
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  float factor_of(std::uint64_t row) const;

  DType type_;
  std::uint64_t row_bytes_;
  std::vector<RowFactor> factors_;
};

}  // namespace octavo
