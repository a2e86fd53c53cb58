// A model as Hugging Face's tools save it: a folder with config.json and safetensors, under GGUF's keys and names.
//
// Beside them are read, where they are there: tokenizer.json, tokenizer_config.json and chat_template.jinja (words and
// template), generation_config.json (sampling and end tokens). Tensors lie in their order in the checkpoint, one behind
// another; none is in a map. The files are read, so one that is cut short is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/math.h"
#include "source/folder/checkpoint.h"
#include "source/folder/directory_builder.h"
#include "source/folder/family.h"
#include "source/folder/tensor_list.h"
#include "source/model_source.h"

namespace octavo {

class FolderSource final : public ModelSource {
 public:
  /// Whether the folder has a config.json.
  static bool is_model(const std::filesystem::path& folder);
  /// Opens a folder. Errors name the file and the key or tensor: a family that is not known, weights quantized in
  /// another way, a tensor without a place in GGUF or of another shape or type than there.
  static Result<FolderSource> open(const std::filesystem::path& folder, const std::stop_token& stop = {},
                                   Math math = Math());
  /// Whether the folder's config.json names an encoder of pictures of a known family.
  static bool has_tower(const std::filesystem::path& folder);
  /// Opens the encoder of pictures that lies in a folder, as a file of one (mmproj) would be. How pictures are prepared
  /// is read from processor_config.json or preprocessor_config.json. Errors: those of open(); the folder has none, or
  /// one of a family that is not known.
  static Result<FolderSource> open_tower(const std::filesystem::path& folder, const std::stop_token& stop = {});

  const SourceFiles& files() const override { return files_; }
  const SourceDirectory& directory() const override { return builder_.directory(); }
  std::vector<std::span<const std::byte>> heads() const override;
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  void prefetch(std::uint64_t offset, std::uint64_t size) const override;
  void drop(std::uint64_t offset, std::uint64_t size) const override;

 private:
  FolderSource() = default;
  void add_tensors(std::vector<NamedTensor> tensors);
  void note_files(const std::filesystem::path& folder);
  template <class Visit>
  void for_tensors(std::uint64_t offset, std::uint64_t size, const Visit& visit) const;

  Checkpoint checkpoint_;
  SourceFiles files_;
  DirectoryBuilder builder_;
  std::vector<std::string> texts_;                            // the bytes of other files, hashed with the tensors
  std::vector<std::unique_ptr<const FolderTensor>> tensors_;  // in the order of the directory
};

}  // namespace octavo
