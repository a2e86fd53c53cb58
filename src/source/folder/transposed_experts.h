// Matrices of experts that a checkpoint stores transposed, as gpt-oss in floats has them.
#pragma once

#include "source/folder/folder_tensor.h"

namespace octavo {

/// Columns that belong to one tensor: every `of`th from column `turn` on, or block `turn` of `of` blocks. Two matrices
/// may take turns, or lie one behind the other.
struct Turns {
  std::uint64_t turn = 0, of = 1;
  bool are_blocks = false;
};

/// The rows of a stored matrix that belong to each of `count` matrices: the first `used` of `step`.
struct RowsOfEach {
  std::uint64_t count, used, step;
};

class TransposedExperts final : public FolderTensor {
 public:
  /// `stored`: [experts, columns of a row, of * rows], elements of `element_bytes`. Its columns become rows.
  TransposedExperts(const CheckpointTensor& stored, std::uint64_t element_bytes, const Turns& turns);
  /// `stored`: a matrix, of whose rows each expert has some, as columns.
  TransposedExperts(const CheckpointTensor& stored, std::uint64_t element_bytes, const RowsOfEach& rows);

  std::uint64_t bytes() const override { return num_experts_ * num_rows_ * row_bytes(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  std::pair<std::size_t, std::uint64_t> place() const override;

 private:
  std::vector<StoredRange> ranges(std::uint64_t offset, std::uint64_t size) const override;
  bool may_drop() const override { return turns_.turn + 1 == turns_.of && num_cols_ == col_step_; }
  std::uint64_t row_bytes() const { return num_cols_ * element_bytes_; }
  std::uint64_t expert_bytes() const { return num_rows_ * row_bytes(); }
  /// Makes rows [begin, end) of an expert.
  Result<void> read_rows(std::uint64_t expert, std::uint64_t begin, std::uint64_t end, std::span<std::byte> out) const;

  CheckpointTensor stored_;
  std::uint64_t element_bytes_;
  Turns turns_;
  std::uint64_t num_experts_, num_rows_, num_cols_;
  std::uint64_t col_step_;  // stored columns from one expert to the next
};

}  // namespace octavo
