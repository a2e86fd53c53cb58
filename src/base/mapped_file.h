// A whole file mapped read-only into memory. Owned by whoever opened it; safe to read from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/error.h"

namespace octavo {

class MappedFile {
 public:
  /// Maps `path`. Errors: missing, a directory, not a regular file, empty, not readable.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  /// Tells the system that [offset, offset + size), as far as the file goes, will soon be read.
  void prefetch(std::size_t offset, std::size_t size) const;

  /// Tells the system that [offset, offset + size) will not be read again, so its pages can go.
  void release(std::size_t offset, std::size_t size) const;

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, std::size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace octavo
