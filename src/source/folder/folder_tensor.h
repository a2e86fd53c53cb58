// A tensor as GGUF has it, made of what a checkpoint stores: rows in an order of their own (stored_rows.h), experts as
// gpt-oss has them (transposed_experts.h, mxfp4_experts.h), or a few numbers that are computed when the folder is
// opened.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "source/folder/checkpoint.h"

namespace octavo {

/// A range of a file's bytes.
struct StoredRange {
  const MappedFile* file;
  std::uint64_t offset;
  std::uint64_t bytes;
};

/// A tensor of a folder. Immutable, so any thread may read it. The checkpoint outlives it.
class FolderTensor {
 public:
  virtual ~FolderTensor() = default;
  FolderTensor(const FolderTensor&) = delete;
  FolderTensor& operator=(const FolderTensor&) = delete;

  virtual std::uint64_t bytes() const = 0;
  /// Reads the bytes from `offset` on. Error: a file ends before them now, or cannot be read.
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// The place of the first stored byte: the file's number, and the offset in the file.
  virtual std::pair<std::size_t, std::uint64_t> place() const { return {0, 0}; }

  /// Tells the system that these bytes will soon be read, or not again.
  void prefetch(std::uint64_t offset, std::uint64_t size) const;
  void drop(std::uint64_t offset, std::uint64_t size) const;

 protected:
  FolderTensor() = default;

 private:
  /// The stored bytes of which up to `size` bytes from `offset` on are made.
  virtual std::vector<StoredRange> ranges(std::uint64_t /*offset*/, std::uint64_t /*size*/) const { return {}; }
  /// Whether no other tensor is made of the bytes in these ranges.
  virtual bool may_drop() const { return true; }
};

/// A tensor whose numbers are computed.
class FolderNumbers final : public FolderTensor {
 public:
  explicit FolderNumbers(std::vector<float> numbers) : numbers_(std::move(numbers)) {}

  std::uint64_t bytes() const override { return numbers_.size() * sizeof(float); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::vector<float> numbers_;
};

}  // namespace octavo
