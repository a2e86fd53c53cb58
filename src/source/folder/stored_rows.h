// Rows that a checkpoint stores as they are, in GGUF's order.
#pragma once

#include <vector>

#include "source/folder/folder_tensor.h"

namespace octavo {

/// An order of pieces, which are rows, or a head's parts of rows. The first `kept` pieces stay. The others form groups
/// of first * second units, each of `unit` pieces, and in a group unit (i, j) moves to (j, i).
struct PieceOrder {
  std::uint64_t first = 1, second = 1;
  std::uint64_t unit = 1;
  std::uint64_t kept = 0;

  bool is_none() const { return first == 1 || second == 1; }
  /// The number of the stored piece that stands at `piece`.
  std::uint64_t source_of(std::uint64_t piece) const;
  /// The number of pieces from `piece` on that are stored one behind another.
  std::uint64_t run(std::uint64_t piece) const;
  std::uint64_t group() const { return first * second * unit; }
};

/// A part of a stored tensor.
struct StoredSlice {
  CheckpointTensor tensor;
  std::uint64_t offset;  // its offset in the tensor's data
  std::uint64_t bytes;
};

class StoredRows : public FolderTensor {
 public:
  /// The tensor is made of `slices`, all of one size, in turn; each has its pieces of `piece_bytes` in `order`.
  StoredRows(std::vector<StoredSlice> slices, const PieceOrder& order, std::uint64_t piece_bytes)
      : slices_(std::move(slices)), order_(order), piece_bytes_(piece_bytes) {}

  std::uint64_t bytes() const override { return slices_.size() * slices_.front().bytes; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  std::pair<std::size_t, std::uint64_t> place() const override;

 private:
  std::vector<StoredRange> ranges(std::uint64_t offset, std::uint64_t size) const override;
  Result<void> read_slice(const StoredSlice& slice, std::uint64_t offset, std::span<std::byte> out) const;
  Result<void> read_runs(const StoredSlice& slice, std::uint64_t offset, std::span<std::byte> out) const;
  Result<void> read_groups(const StoredSlice& slice, std::uint64_t offset, std::span<std::byte> out) const;

  std::vector<StoredSlice> slices_;
  PieceOrder order_;
  std::uint64_t piece_bytes_;
};

}  // namespace octavo
