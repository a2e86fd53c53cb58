// The file of API keys: its text, who else may read it, and when it has changed. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"

namespace octavo::server {

/// The text of the file. Errors: it cannot be read, is no regular file, or is larger than 1 MiB; others than its owner
/// and its group may read it, or others than its owner may write it. The group may read: systemd's credentials and many
/// mounted secrets are root's, and the service is in their group.
Result<std::string> read_key_file(const std::filesystem::path& path);

/// Marks of a file that change when it is written, replaced, or given other rights.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

/// The marks of a file. None: there is no such file, or the system does not tell.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);

}  // namespace octavo::server
