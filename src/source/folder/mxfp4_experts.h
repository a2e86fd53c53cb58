// Matrices of experts in MXFP4 as gpt-oss stores them: codes and scales apart.
//
// A block has 32 codes of 4 bits and one scale. The checkpoint has neighbours in a byte, the first in the low bits;
// ggml has the scale and then bytes whose low bits are the first half of the block and whose high bits are the second
// (ggml-common.h, block_mxfp4). Formats: OCP Microscaling Formats v1.0; transformers, integrations/mxfp4.py.
#pragma once

#include "source/folder/transposed_experts.h"

namespace octavo {

class Mxfp4Experts final : public FolderTensor {
 public:
  static constexpr std::uint64_t kCodes = 32;  // the number of codes in a block

  /// `codes`: bytes [experts, of * rows, blocks of a row, 16]; `scales`: bytes [experts, of * rows, blocks of a row].
  /// Rows of several matrices alternate as columns do in TransposedExperts.
  Mxfp4Experts(const CheckpointTensor& codes, const CheckpointTensor& scales, const Turns& turns);

  std::uint64_t bytes() const override { return num_experts_ * num_rows_ * row_bytes(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  std::pair<std::size_t, std::uint64_t> place() const override;

 private:
  std::vector<StoredRange> ranges(std::uint64_t offset, std::uint64_t size) const override;
  bool may_drop() const override { return turns_.turn + 1 == turns_.of; }
  std::uint64_t row_bytes() const;
  /// The stored rows from which `size` bytes from `offset` on are made.
  std::pair<std::uint64_t, std::uint64_t> stored_rows(std::uint64_t offset, std::uint64_t size) const;

  CheckpointTensor codes_, scales_;
  Turns turns_;
  std::uint64_t num_experts_, num_rows_, num_blocks_;  // the rows of an expert, and the blocks of a row
};

}  // namespace octavo
