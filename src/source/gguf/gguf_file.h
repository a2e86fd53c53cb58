// A GGUF file: header, typed metadata, tensor directory (format: ggml docs/gguf.md, versions 2 and 3).
//
// Every count, length and offset of the file is compared with the file's real size before anything is allocated for it.
// Names, texts and tensor data are views into the mapped file. Its head is a copy in memory, so that opening touches no
// page of the file (base/mapped_file.h says why).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "source/model_source.h"

namespace octavo {

class GgufFile final : public ModelSource {
 public:
  /// Maps a file, reads its head and checks it. Errors name the file and the offset, key or tensor; a head of more than
  /// FileHead::kMaxBytes is one, and so is a stop that is asked for before all of the head is read.
  static Result<GgufFile> open(const std::filesystem::path& path, const std::stop_token& stop = {});

  /// Reads bytes in memory, aligned to 8 or more and kept alive by the caller; messages name them
  /// `name`.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, const std::filesystem::path& name);

  const SourceFiles& files() const override { return files_; }
  const SourceDirectory& directory() const override { return directory_; }
  std::vector<std::span<const std::byte>> heads() const override { return {head_}; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  void prefetch(std::uint64_t offset, std::uint64_t size) const override;
  void drop(std::uint64_t offset, std::uint64_t size) const override;

  std::uint32_t alignment() const { return alignment_; }
  /// The directory, for an owner that keeps it in place of this file; its views into the file stay.
  SourceDirectory release_directory() { return std::move(directory_); }

 private:
  friend class GgufParser;
  GgufFile() = default;

  SourceFiles files_;
  SourceDirectory directory_;
  std::optional<MappedFile> map_;     // the map; none for bytes in memory
  std::span<const std::byte> bytes_;  // all bytes of the file
  std::span<const std::byte> head_;
  std::uint32_t alignment_ = 32;
};

}  // namespace octavo
