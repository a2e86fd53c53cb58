#include "base/file_writing.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/to_size.h"

namespace octavo {

Result<void> write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                      const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ::ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail("{}: cannot write: {}", path.string(), std::strerror(errno));
    bytes = bytes.subspan(to_size(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

Result<void> sync_file(int fd, const std::filesystem::path& path) {
  if (::fsync(fd) != 0) return fail("{}: cannot write to the disk: {}", path.string(), std::strerror(errno));
  return {};
}

Result<void> rename_file(const std::filesystem::path& path, const std::filesystem::path& wanted) {
  std::error_code error;
  std::filesystem::rename(path, wanted, error);
  if (error) return fail("{}: cannot be renamed to {}: {}", path.string(), wanted.string(), error.message());
  return {};
}

}  // namespace octavo
