// Writes a GGUF file from front to back: the head, then the data of each tensor in their order, in pieces of any size.
//
// The file has its name when all of it is there (base/output_file.h). One owner, one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/output_file.h"
#include "source/gguf_head.h"

namespace octavo {

class GgufFileWriter {
 public:
  /// Begins the file and writes its head. Errors: those of OutputFile.
  static Result<GgufFileWriter> create(const std::filesystem::path& path, GgufHead head, bool overwrite);

  /// Writes the next bytes of the current tensor; the piece after its last byte begins the next tensor. A piece must
  /// not reach beyond its tensor. Error: the disk is full or fails.
  Result<void> append(std::span<const std::byte> piece);

  /// Gives the file its name. All bytes of all tensors must have been given.
  Result<void> finish();

 private:
  GgufFileWriter(OutputFile file, GgufHead head) : file_(std::move(file)), head_(std::move(head)) {}
  Result<void> close_tensors();

  OutputFile file_;
  GgufHead head_;
  std::size_t tensor_ = 0;     // the tensor that is being written
  std::uint64_t written_ = 0;  // the bytes of it that have been written
};

}  // namespace octavo
