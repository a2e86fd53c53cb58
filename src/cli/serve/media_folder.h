// The folder whose files clients may name by `file:` addresses. Nothing outside of it can be read.
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
  /// is no regular file, or is outside of the folder once links and ".." are followed (both have one message); it has
  /// more than `most_bytes` (kPictureTooLarge); it cannot be read.
  Result<std::string> read(std::string_view address, std::uint64_t most_bytes) const;

 private:
  explicit MediaFolder(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace octavo::cli
