// A tensor as GGUF has it, made of those of a checkpoint: some stored one behind another, rows in another order, or a
// few numbers that are computed when the folder is opened.
#pragma once

#include <cstdint>
#include <vector>

#include "source/folder/checkpoint.h"
#include "tensor/tensor.h"

namespace octavo {

/// An order of rows: they form groups of first * second rows, in each of which row (i, j) moves to (j, i). With one of
/// them 1 rows stay where they are.
struct RowSwap {
  std::uint64_t first = 1, second = 1;

  bool is_none() const { return first == 1 || second == 1; }
  /// The row that stands at `row` afterwards.
  std::uint64_t source_of(std::uint64_t row) const {
    const std::uint64_t group = first * second, within = row % group;
    return row - within + within % first * second + within / first;
  }
};

class FolderTensor {
 public:
  /// Stored tensors of one shape, one behind another.
  FolderTensor(std::vector<CheckpointTensor> parts, RowSwap swap, std::uint64_t row_bytes)
      : parts_(std::move(parts)), swap_(swap), row_bytes_(row_bytes) {}
  /// Numbers of its own.
  explicit FolderTensor(std::vector<float> numbers) : numbers_(std::move(numbers)) {}

  std::uint64_t bytes() const {
    return parts_.empty() ? numbers_.size() * sizeof(float) : parts_.size() * parts_.front().stored->bytes;
  }
  /// The bytes from `offset` on. Error: a file ends before that now, or cannot be read.
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;
  /// Tells the system that these bytes will soon be read, or not again.
  void prefetch(std::uint64_t offset, std::uint64_t size) const;
  void drop(std::uint64_t offset, std::uint64_t size) const;
  /// Where the first of them lies: the file's index and the offset there.
  std::pair<std::size_t, std::uint64_t> place() const;

 private:
  template <class Visit>
  void for_files(std::uint64_t offset, std::uint64_t size, const Visit& visit) const;
  Result<void> read_part(const CheckpointTensor& part, std::uint64_t offset, std::span<std::byte> out) const;

  std::vector<CheckpointTensor> parts_;
  RowSwap swap_;
  std::uint64_t row_bytes_ = 1;
  std::vector<float> numbers_;
};

}  // namespace octavo
