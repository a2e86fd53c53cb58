// A file that is written from front to back and gets its name when all of it is there.
//
// Until then its name is PATH.partial, so that a killed program leaves no file that looks whole; the next program
// begins that file anew. One owner, one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/error.h"

namespace octavo {

class OutputFile {
 public:
  /// Makes PATH.partial. Errors: the name PATH is taken and `overwrite` is false, or something else than a regular file
  /// has it; the disk has less room than `bytes`; another process writes the file; PATH.partial is a link, no regular
  /// file, or has another name too; it cannot be made.
  static Result<OutputFile> create(const std::filesystem::path& path, std::uint64_t bytes, bool overwrite);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes the file unless it was finished.
  ~OutputFile();

  /// The bytes written so far.
  std::uint64_t size() const { return size_; }

  /// Appends bytes. Error: the disk is full or fails.
  Result<void> append(std::span<const std::byte> bytes);
  /// Gives the file its name after the file is on the disk; no bytes may be appended after that.
  Result<void> finish();

 private:
  OutputFile(std::filesystem::path path, bool overwrite);
  Result<void> check_name() const;
  Result<void> check_room(std::uint64_t bytes) const;

  std::filesystem::path path_, partial_;
  bool overwrite_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace octavo
