#include "hub/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/stop_check.h"

namespace octavo::hub {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

/// Whether a locked file still has its path. Other tools remove a lock's file when they are done, and a lock on a
/// removed file keeps nobody out.
bool is_file_at(int fd, const std::filesystem::path& path) {
  struct stat held{}, named{};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

Result<FileLock> FileLock::take(const std::filesystem::path& path, std::chrono::milliseconds patience,
                                const std::function<bool()>& has_progress, const std::stop_token& stop) {
  auto last = std::chrono::steady_clock::now();
  while (true) {
    OCTAVO_TRY_VOID(check_stop(stop, "fetching"));
    FileLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (lock.fd_ < 0) return fail("{}: cannot open: {}", path.string(), std::generic_category().message(errno));
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) == 0) {
      if (is_file_at(lock.fd_, path)) return lock;
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR)
      return fail("{}: cannot lock: {}", path.string(), std::generic_category().message(errno));
    const auto now = std::chrono::steady_clock::now();
    if (has_progress()) last = now;
    if (now - last > patience)
      return fail("{}: another process holds this lock and has made no progress for {} s", path.string(),
                  std::chrono::duration_cast<std::chrono::seconds>(patience).count());
    wait_unless_stopped(stop, kInterval);
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace octavo::hub
