#include "cli/serve/media_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/text.h"
#include "base/to_size.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kScheme = "file:", kThisMachine = "localhost/";
constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// The path under which the kernel shows an open file.
std::string link_of(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// The path of an open file, without links; empty: it is not known.
std::string place_of(int descriptor) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(link_of(descriptor).c_str(), text.data(), text.size());
  return size <= 0 || to_size(size) == text.size() ? std::string() : std::string(text.data(), to_size(size));
}

/// The path in an address; nothing: it has none that could exist.
std::optional<std::string> path_in(std::string_view address) {
  address.remove_prefix(std::min(kScheme.size(), address.size()));
  if (address.starts_with("//")) {
    address.remove_prefix(2);
    if (address.starts_with(kThisMachine)) address.remove_prefix(kThisMachine.size() - 1);
  }
  std::string path = percent_decoded(address);
  if (path.empty() || path.size() >= PATH_MAX || path.find('\0') != std::string::npos) return std::nullopt;
  return path;
}

Result<std::string> read_all(int descriptor, std::uint64_t most_bytes) {
  std::string bytes;
  while (bytes.size() <= most_bytes) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kPieceBytes);
    const ssize_t count = ::read(descriptor, bytes.data() + size, kPieceBytes);
    const int error = errno;
    bytes.resize(size + to_size(std::max<ssize_t>(count, 0)));
    if (count < 0 && error != EINTR) return fail("cannot read it: {}", std::strerror(error));
    if (count == 0) return bytes;
  }
  return fail_as(ErrorKind::kPictureTooLarge, "found more than {} bytes, expected at most so many", most_bytes);
}

}  // namespace

Result<MediaFolder> MediaFolder::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return fail("{}: cannot open: {}", path, std::strerror(errno));
  return MediaFolder(descriptor);
}

MediaFolder::~MediaFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

MediaFolder::MediaFolder(MediaFolder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

// The file is first opened without the right to read it, which does nothing to a device or a pipe, and checked. Then
// that very file is read, wherever its name may lead by then.
Result<std::string> MediaFolder::read(std::string_view address, std::uint64_t most_bytes) const {
  const auto elsewhere =
      fail("found the address {}, expected that of a file in the folder of --media-path", quote(address));
  const auto path = path_in(address);
  if (!path) return elsewhere;
  const Descriptor found(::openat(descriptor_, path->c_str(), O_PATH | O_CLOEXEC));
  struct stat about = {};
  if (found.number() < 0 || ::fstat(found.number(), &about) != 0 || !S_ISREG(about.st_mode)) return elsewhere;
  const std::string folder = place_of(descriptor_), place = place_of(found.number());
  const std::string inside = folder.ends_with('/') ? folder : folder + '/';
  if (folder.empty() || !place.starts_with(inside)) return elsewhere;
  const Descriptor file(::open(link_of(found.number()).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0)
    return fail("found the address {}, which this server cannot open: {}", quote(address), std::strerror(errno));
  auto bytes = read_all(file.number(), most_bytes);
  if (bytes) return bytes;
  return std::unexpected(
      Error{.message = fmt::format("{} at {}", bytes.error().message, quote(address)), .kind = bytes.error().kind});
}

}  // namespace octavo::cli
