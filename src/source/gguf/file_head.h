// The beginning of a mapped file, read into memory as far as it is asked for.
//
// Parsing a mapped file in place would end the process if the file were cut short at that moment; reading gives an
// error. The bytes read take the place of the file's pages in the map, so addresses stay and no further ones are
// needed. One thread, while the GgufFile is opened; the copies belong to the map.
#pragma once

#include <cstdint>

#include "base/mapped_file.h"

namespace octavo {

class FileHead {
 public:
  /// The most bytes of metadata and directory. Real ones have some ten million: a vocabulary of 256,000 words with its
  /// merges.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

  explicit FileHead(const MappedFile& file) : file_(file) {}

  /// Makes the bytes of the map before `end`, which lie in the file, a copy. Errors: more than kMaxBytes; bytes that
  /// cannot be read.
  Result<void> load(std::uint64_t end);

 private:
  const MappedFile& file_;
  std::uint64_t loaded_ = 0;
};

}  // namespace octavo
