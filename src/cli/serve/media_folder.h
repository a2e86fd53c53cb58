// The folder whose files clients may name by `file:` addresses, and nothing beside it.
//
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::cli {

class MediaFolder {
 public:
  /// Error: there is no such folder.
  static Result<MediaFolder> open(const std::string& path);
  ~MediaFolder();
  MediaFolder(MediaFolder&& other) noexcept;
  MediaFolder(const MediaFolder&) = delete;
  MediaFolder& operator=(const MediaFolder&) = delete;

  /// The bytes of the file that "file:///absolute/path", "file://path/in/the/folder" or "file:path" names. Errors: it
  /// is no regular file, or lies elsewhere once links and ".." are followed, which are told alike; it has more than
  /// `most_bytes` (kPictureTooLarge); it cannot be read.
  Result<std::string> read(std::string_view address, std::uint64_t most_bytes) const;

 private:
  explicit MediaFolder(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace octavo::cli
