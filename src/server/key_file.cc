#include "server/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/to_size.h"

namespace octavo::server {
namespace {

constexpr std::size_t kMaxBytes = 1U << 20;
constexpr mode_t kForbidden = S_IWGRP | S_IRWXO;

/// A file descriptor, which is closed by the destructor.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

Result<void> check_status(const struct stat& status, const std::string& name) {
  if (!S_ISREG(status.st_mode)) return fail("{}: expected a regular file of API keys, found something else", name);
  if ((status.st_mode & kForbidden) != 0)
    return fail(
        "{}: found a file of API keys with the rights {:04o}, expected 0600, 0640 or fewer: nobody but its owner may "
        "write it, and nobody but its owner and its group may read it",
        name, status.st_mode & 07777U);
  if (status.st_size > static_cast<off_t>(kMaxBytes))
    return fail("{}: found {} bytes, expected a file of API keys of at most {}", name, status.st_size, kMaxBytes);
  return {};
}

}  // namespace

Result<std::string> read_key_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  // O_NONBLOCK, as a pipe without a writer would be waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) return fail("{}: cannot open the file of API keys: {}", name, std::strerror(errno));
  struct stat status{};
  if (::fstat(file.number, &status) != 0)
    return fail("{}: cannot read the file of API keys: {}", name, std::strerror(errno));
  OCTAVO_TRY_VOID(check_status(status, name));
  std::string text(kMaxBytes + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t count = ::read(file.number, text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("{}: cannot read the file of API keys: {}", name, std::strerror(errno));
    if (count == 0) break;
    length += to_size(count);
  }
  if (length > kMaxBytes)
    return fail("{}: expected a file of API keys of at most {} bytes, found more", name, kMaxBytes);
  text.resize(length);
  return text;
}

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileStamp{.device = status.st_dev,
                   .inode = status.st_ino,
                   .size = status.st_size,
                   .modified_ns = nanoseconds(status.st_mtim),
                   .changed_ns = nanoseconds(status.st_ctim)};
}

}  // namespace octavo::server
