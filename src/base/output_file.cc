#include "base/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file_writing.h"

namespace octavo {
namespace {

constexpr ::mode_t kMode = 0644;  // the umask takes bits away

const char* system_error() { return std::strerror(errno); }

/// The folder of a file with this path.
std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Whether an earlier attempt can have left the file: it is a regular file and has no other name.
bool may_be_emptied(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, bool overwrite)
    : path_(std::move(path)), partial_(path_), overwrite_(overwrite) {
  partial_ += ".partial";
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      overwrite_(other.overwrite_),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::unlink(partial_.c_str());
  ::close(fd_);
}

Result<OutputFile> OutputFile::create(const std::filesystem::path& path, std::uint64_t bytes, bool overwrite) {
  OutputFile file(path, overwrite);
  OCTAVO_TRY_VOID(file.check_name());
  OCTAVO_TRY_VOID(file.check_room(bytes));
  const int fd = ::open(file.partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kMode);
  if (fd < 0) return fail("{}: cannot be made: {}", file.partial_.string(), system_error());
  if (!may_be_emptied(fd)) {
    ::close(fd);
    return fail("{}: is there and is no regular file with one name, as an earlier attempt would have left it",
                file.partial_.string());
  }
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return fail("{}: another process is writing it", file.partial_.string());
  }
  file.fd_ = fd;
  if (::ftruncate(fd, 0) != 0) return fail("{}: cannot be emptied: {}", file.partial_.string(), system_error());
  return file;
}

Result<void> OutputFile::check_name() const {
  struct stat info{};
  if (::stat(path_.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail("{}: {}", path_.string(), system_error());
  }
  if (!S_ISREG(info.st_mode)) return fail("{}: is there and is no regular file", path_.string());
  if (!overwrite_) return fail("{}: is there already; it is replaced with --force", path_.string());
  return {};
}

Result<void> OutputFile::check_room(std::uint64_t bytes) const {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder_of(path_), error);
  if (error) return fail("{}: cannot look at its folder: {}", path_.string(), error.message());
  std::uint64_t available = space.available;
  // Emptying the file gives back the bytes of an earlier attempt.
  if (const auto old = std::filesystem::file_size(partial_, error); !error) available += old;
  if (available < bytes) return fail("{}: needs {} bytes, the disk has room for {}", path_.string(), bytes, available);
  return {};
}

Result<void> OutputFile::append(std::span<const std::byte> bytes) {
  OCTAVO_TRY_VOID(write_at(fd_, size_, bytes, partial_));
  size_ += bytes.size();
  return {};
}

Result<void> OutputFile::finish() {
  OCTAVO_TRY_VOID(sync_file(fd_, partial_));
  OCTAVO_TRY_VOID(check_name());  // the name may have been taken meanwhile
  OCTAVO_TRY_VOID(rename_file(partial_, path_));
  ::close(std::exchange(fd_, -1));
  return {};
}

}  // namespace octavo
