// A file of tensors in the format safetensors: a length, a header in JSON, the data
// (https://huggingface.co/docs/safetensors).
//
// The header is read, never mapped; every length and offset is compared with the file's size and every two tensors with
// each other. Owned by the checkpoint that it is a part of; immutable, so any thread may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace octavo {

struct StoredTensor {
  std::string name;
  std::string dtype;                      // the type as the file names it: "F32", "BF16" and so on
  std::vector<std::uint64_t> shape = {};  // the row's length comes last
  std::uint64_t offset = 0;               // the offset in the file
  std::uint64_t bytes = 0;
};

class SafetensorsFile {
 public:
  static constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
  static constexpr std::size_t kMaxTensors = std::size_t{1} << 18;
  static constexpr std::size_t kMaxDims = 8;

  /// Opens a file. Errors name the file, and the tensor if one is at fault.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  /// Prefixes the names of all tensors.
  void rename_tensors(std::string_view prefix) {
    for (StoredTensor& tensor : tensors_) tensor.name.insert(0, prefix);
  }

  const MappedFile& file() const { return file_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::string& header() const { return header_; }

 private:
  explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}
  Result<void> read_header();

  MappedFile file_;
  std::string header_;  // the header's JSON
  std::vector<StoredTensor> tensors_;
};

/// Reads the tensors that a header lists, with offsets that count from `data_begin`. Errors: the header is no such
/// JSON; a tensor's type, shape and place do not fit each other, or a file of `file_bytes`. `name` stands for the file
/// in messages.
Result<std::vector<StoredTensor>> parse_safetensors_header(std::string_view header, std::uint64_t data_begin,
                                                           std::uint64_t file_bytes, const std::string& name);

}  // namespace octavo
