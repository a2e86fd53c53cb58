// A whole file mapped read-only into memory. Its opener owns it; any thread may read it.
//
// A page of the map that the file no longer has, because it was cut short or its disk fails, ends the process with
// SIGBUS when the page is touched. read() gives an error instead, so bytes that are needed once are read.
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
  /// The time of the file's last change before it was opened, in nanoseconds since 1970.
  std::int64_t modified_ns() const { return modified_ns_; }

  /// Copies [offset, offset + out.size()) of the file, not through the map. Error: the file now ends before that, or
  /// cannot be read.
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;

  /// Tells the system that [offset, offset + size), up to the file's end, will soon be read.
  void prefetch(std::size_t offset, std::size_t size) const;
  /// Tells the system that these bytes will not be read again soon: their whole pages may leave the page cache.
  void drop(std::size_t offset, std::size_t size) const;

 private:
  void advise(std::size_t offset, std::size_t size, int advice) const;
  explicit MappedFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;
  std::int64_t modified_ns_ = 0;
};

}  // namespace octavo
