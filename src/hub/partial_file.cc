#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_writing.h"
#include "base/stop_check.h"
#include "base/to_size.h"

namespace octavo::hub {
namespace {

std::string system_error() { return std::generic_category().message(errno); }

}  // namespace

PartialFile::PartialFile(std::filesystem::path path, std::string hash, std::uint64_t max_bytes)
    : path_(std::move(path)), hash_(std::move(hash)), digest_(hash_, max_bytes) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      hash_(std::move(other.hash_)),
      digest_(std::move(other.digest_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      is_resumed_(other.is_resumed_) {}

PartialFile::~PartialFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<PartialFile> PartialFile::open(const std::filesystem::path& path, std::string hash, std::uint64_t max_bytes,
                                      const std::stop_token& stop) {
  PartialFile file(path, std::move(hash), max_bytes);
  file.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file.fd_ < 0) return fail("{}: cannot open: {}", path.string(), system_error());
  struct stat info{};
  if (::fstat(file.fd_, &info) != 0) return fail("{}: cannot stat: {}", path.string(), system_error());
  if (!S_ISREG(info.st_mode)) return fail("{}: is not a regular file", path.string());
  file.size_ = static_cast<std::uint64_t>(info.st_size);
  if (file.size_ > max_bytes) OCTAVO_TRY_VOID(file.restart());
  file.is_resumed_ = file.size_ > 0;
  OCTAVO_TRY_VOID(file.hash_present(stop));
  return file;
}

Result<void> PartialFile::hash_present(const std::stop_token& stop) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::vector<std::byte> piece(kPieceBytes);
  for (std::uint64_t at = 0; at < size_;) {
    OCTAVO_TRY_VOID(check_stop(stop, "fetching"));
    const ::ssize_t got = ::pread(fd_, piece.data(), piece.size(), static_cast<::off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("{}: cannot read: {}", path_.string(), got < 0 ? system_error() : "it was cut short");
    digest_.update(std::span(piece).first(to_size(got)));
    at += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<void> PartialFile::append(std::span<const std::byte> bytes) {
  digest_.update(bytes);
  OCTAVO_TRY_VOID(write_at(fd_, size_, bytes, path_));
  size_ += bytes.size();
  return {};
}

Result<void> PartialFile::restart() {
  if (::ftruncate(fd_, 0) != 0) return fail("{}: cannot cut: {}", path_.string(), system_error());
  size_ = 0;
  is_resumed_ = false;
  digest_.reset();
  return {};
}

bool PartialFile::has_right_hash() { return digest_.finish() == hash_; }

Result<void> PartialFile::rename_to(const std::filesystem::path& path) const {
  OCTAVO_TRY_VOID(sync_file(fd_, path_));
  return rename_file(path_, path);
}

}  // namespace octavo::hub
