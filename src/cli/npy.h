// Writes a float32 matrix in NumPy's format, row by row (format version 1.0: numpy.lib.format). One owner, one thread.
//
// A file gets its name when it is complete: an earlier one stays until then. Pipes and devices are written to directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/output_file.h"

namespace octavo::cli {

/// The magic, version and header of a C-ordered float32 array [rows, cols]; the size is a multiple of 64.
std::string npy_header(std::uint64_t rows, std::uint64_t cols);

class NpyWriter {
 public:
  /// Begins a file that finish() puts in the place of `path`. Error: it cannot be written.
  static Result<NpyWriter> create(const std::filesystem::path& path, std::uint64_t rows, std::uint64_t cols);

  /// Appends whole rows. finish() reports a failure.
  void append(std::span<const float> values);

  /// Closes the file. Errors: a write failed; not exactly rows * cols values were given.
  Result<void> finish();

 private:
  NpyWriter(std::filesystem::path path, std::uint64_t num_values) : path_(std::move(path)), expected_(num_values) {}

  void write(std::span<const std::byte> bytes);

  std::filesystem::path path_;
  std::optional<OutputFile> file_;
  std::ofstream device_;  // used where path_ is no regular file
  Result<void> written_so_far_;
  std::uint64_t expected_;
  std::uint64_t written_ = 0;
};

}  // namespace octavo::cli
