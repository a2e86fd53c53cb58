// Writes files: a function returns when it is done, or gives an error, whose message begins with the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/error.h"

namespace octavo {

/// Writes all bytes to the open file, from `offset` on. Messages name `path`. Error: the disk is full or
/// fails.
Result<void> write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                      const std::filesystem::path& path);

/// Returns when the whole file is on the disk. Error: it cannot be put there.
Result<void> sync_file(int fd, const std::filesystem::path& path);
Result<void> rename_file(const std::filesystem::path& path, const std::filesystem::path& wanted);

/// Replaces `path` with a file of these bytes, as a whole or not at all. Until the file is on the disk it has a new
/// name beside `path`, at which nobody can have put a link. It gets the mode of the regular file that was there before.
/// Error: the file cannot be made; the disk is full or fails.
Result<void> replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace octavo
