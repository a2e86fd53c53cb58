// The tensors of a Hugging Face folder: model.safetensors, or the files that model.safetensors.index.json names, and
// the tensors of folders inside it.
//
// Read-only once opened.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "source/folder/safetensors_file.h"

namespace octavo {

/// A tensor and its file, which both live as long as the checkpoint.
struct CheckpointTensor {
  const SafetensorsFile* file;
  std::size_t file_index;
  const StoredTensor* stored;
};

class Checkpoint {
 public:
  /// Opens a folder's files. Errors: neither file exists; a file that the index names is missing, or lacks a tensor;
  /// two files have a tensor of one name; a stop was asked for before the last file was opened. `dense`: folders with a
  /// model.safetensors of their own. The last one's tensors are named "dense.last.linear.weight", and those of one
  /// before it "dense.first.linear.weight".
  static Result<Checkpoint> open(const std::filesystem::path& folder, std::span<const std::filesystem::path> dense,
                                 const std::stop_token& stop);

  const std::vector<SafetensorsFile>& files() const { return files_; }
  /// The tensors in the order of their bytes, file by file.
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }

 private:
  Result<void> add_file(const std::filesystem::path& path);
  Result<void> open_files(const std::filesystem::path& folder, const std::stop_token& stop);
  Result<void> list_tensors();

  std::vector<SafetensorsFile> files_;
  std::vector<CheckpointTensor> tensors_;
};

}  // namespace octavo
