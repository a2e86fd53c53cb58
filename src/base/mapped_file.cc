#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/to_size.h"

namespace octavo {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  MappedFile file(path);  // it closes the file if one of the calls below fails
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd_ < 0) return fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  struct stat info{};
  if (::fstat(file.fd_, &info) != 0) return fail("{}: cannot stat: {}", path.string(), std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return fail("{}: is a directory, expected a file", path.string());
  if (!S_ISREG(info.st_mode)) return fail("{}: is not a regular file", path.string());
  if (info.st_size == 0) return fail("{}: the file is empty", path.string());
  const auto size = to_size(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd_, 0);
  if (data == MAP_FAILED) return fail("{}: cannot map {} bytes: {}", path.string(), size, std::strerror(errno));
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  file.modified_ns_ = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::exchange(other.fd_, -1)),
      modified_ns_(other.modified_ns_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  std::swap(modified_ns_, other.modified_ns_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

Result<void> MappedFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t at = offset + done;
    const ::ssize_t got = ::pread(fd_, out.data() + done, out.size() - done, static_cast<::off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail("{}: cannot read at byte {}: {}", path_.string(), at, std::generic_category().message(errno));
    if (got == 0)
      return fail(
          "{}: the file was cut short while it was in use: it ends at or before byte {}, and had {} when it was "
          "opened",
          path_.string(), at, size_);
    done += to_size(got);
  }
  return {};
}

void MappedFile::prefetch(std::size_t offset, std::size_t size) const { advise(offset, size, POSIX_FADV_WILLNEED); }

void MappedFile::drop(std::size_t offset, std::size_t size) const { advise(offset, size, POSIX_FADV_DONTNEED); }

void MappedFile::advise(std::size_t offset, std::size_t size, int advice) const {
  if (offset >= size_) return;
  ::posix_fadvise(fd_, static_cast<::off_t>(offset), static_cast<::off_t>(std::min(size, size_ - offset)), advice);
}

}  // namespace octavo
