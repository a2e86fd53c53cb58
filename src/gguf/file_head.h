// The beginning of a file, read into memory as far as it is asked for.
//
// Parsing a mapped file in place would end the process if the file were cut short at that moment; reading gives an
// error. Addresses are reserved once and never move, memory is taken as bytes arrive. Owned by the GgufFile; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/mapped_file.h"

namespace octavo {

class FileHead {
 public:
  /// Metadata and directory may have so many bytes. Real ones have some ten million: a vocabulary of 256,000 words with
  /// its merges.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

  FileHead() = default;
  /// Room for the beginning of `file`. Error: no addresses left.
  static Result<FileHead> reserve(const MappedFile& file);

  /// Reads the bytes before `end`, which lie in the file, as far as they are not there yet. Errors: they are more than
  /// kMaxBytes, or cannot be read.
  Result<void> load(const MappedFile& file, std::uint64_t end);

  /// As many as the file has. Those beyond what was loaded must not be touched.
  std::span<const std::byte> bytes() const { return {memory_.get(), file_bytes_}; }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(std::byte* data) const;
  };

  std::unique_ptr<std::byte, Unmap> memory_;
  std::size_t file_bytes_ = 0;
  std::uint64_t loaded_ = 0;
};

}  // namespace octavo
