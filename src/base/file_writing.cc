#include "base/file_writing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/random_bytes.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr ::mode_t kMode = 0666;  // the umask takes bits away
constexpr ::mode_t kModeBits = 0777;
constexpr int kMaxNames = 100;  // the most names to try: one of 2^32 is seldom taken

struct NewFile {
  std::filesystem::path path;
  int fd;
};

/// Makes an empty file in the folder of `path`, under a name that nobody knew.
Result<NewFile> make_beside(const std::filesystem::path& path) {
  for (int i = 0; i < kMaxNames; ++i) {
    std::filesystem::path made =
        path.parent_path() / fmt::format(".octavo-{:08x}.new", static_cast<std::uint32_t>(random_seed()));
    const int fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
    if (fd >= 0) return NewFile{std::move(made), fd};
    if (errno != EEXIST) break;
  }
  return fail("{}: cannot make a file beside it: {}", path.string(), std::strerror(errno));
}

/// Gives the file the mode of the regular file at `path`, if there is one. Some file systems have no modes to change.
Result<void> take_mode(int fd, const std::filesystem::path& path) {
  struct stat old{}, now{};
  if (::lstat(path.c_str(), &old) != 0 || !S_ISREG(old.st_mode) || ::fstat(fd, &now) != 0) return {};
  if (((old.st_mode ^ now.st_mode) & kModeBits) == 0 || ::fchmod(fd, old.st_mode & kModeBits) == 0) return {};
  return fail("{}: its mode cannot be kept: {}", path.string(), std::strerror(errno));
}

Result<void> fill(int fd, const std::filesystem::path& path, std::span<const std::byte> bytes) {
  OCTAVO_TRY_VOID(take_mode(fd, path));  // the mode is set before there is anything to read
  OCTAVO_TRY_VOID(write_at(fd, 0, bytes, path));
  return sync_file(fd, path);
}

}  // namespace

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

Result<void> replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  OCTAVO_TRY(const NewFile made, make_beside(path));
  Result<void> done = fill(made.fd, path, bytes);
  ::close(made.fd);
  if (done) done = rename_file(made.path, path);
  if (!done) ::unlink(made.path.c_str());
  return done;
}

}  // namespace octavo
