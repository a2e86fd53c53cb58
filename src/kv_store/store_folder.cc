#include "kv_store/store_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <tuple>

#include "base/file_writing.h"
#include "base/hex.h"
#include "base/random_bytes.h"
#include "base/to_size.h"
#include "kv_store/index_file.h"

namespace octavo {
namespace {

constexpr ::mode_t kFolderMode = 0700, kFileMode = 0600;
constexpr ::mode_t kModeBits = 0777, kOthersBits = 0077;
constexpr std::int64_t kUnfinishedFor_s = 3600;
constexpr std::int64_t kOutdatedAfter_s = 3600;  // the age of the last use, if another build's is newer
constexpr std::size_t kShownAddressBytes = 4096;
constexpr std::string_view kSuffix = ".run", kIndexName = "index";
constexpr std::size_t kHexDigits = 32;

struct Close {
  void operator()(::DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<::DIR, Close>;

std::optional<unsigned> digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

/// The 16 bytes that 32 hexadecimal digits mean.
std::optional<std::array<std::byte, 16>> from_hex(std::string_view text) {
  if (text.size() != kHexDigits) return std::nullopt;
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    bytes[i] = static_cast<std::byte>(*high << 4 | *low);
  }
  return bytes;
}

/// The part of an address about the model and its blocks: all but the line of the build and the version of files.
std::string model_of(const std::string& address) {
  const std::size_t first = address.find('\n');
  const std::size_t second = first == std::string::npos ? first : address.find('\n', first + 1);
  if (second == std::string::npos) return address;
  const std::size_t last = address.rfind('\n', address.size() - 2);
  return address.substr(0, first) + address.substr(second, last - std::min(last, second));
}

/// Calls visit(name) for each entry of a folder until it gives false. Does nothing where there is no folder.
template <class Visit>
bool for_entries(const std::filesystem::path& path, const Visit& visit) {
  const OpenFolder folder(::opendir(path.c_str()));
  if (!folder) return true;
  while (const ::dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (!name.starts_with('.') && !visit(name, ::dirfd(folder.get()))) return false;
  }
  return true;
}

Result<void> check_mode(const std::filesystem::path& path, ::mode_t mode, ::mode_t expected) {
  if ((mode & kOthersBits) == 0) return {};
  return fail("{}: its mode is {:04o}, expected {:04o}: others could read prompts or change answers; chmod {:04o} {}",
              path.string(), mode & kModeBits, expected, expected, path.string());
}

Result<void> make_folder(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST) return {};
  return fail("{}: cannot be made: {}", path.string(), std::strerror(errno));
}

/// Makes a file with these bytes under a temporary name, then calls `name` to give it the name `path`, so nobody sees a
/// part of it.
template <class Name>
Result<void> make_file(const std::filesystem::path& path, std::span<const std::byte> bytes, const Name& name) {
  const auto made = path.parent_path() / fmt::format("{:016x}{}", random_seed(), kUnfinishedSuffix);
  const int fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  if (fd < 0) return fail("{}: cannot be made: {}", made.string(), std::strerror(errno));
  Result<void> done = write_at(fd, 0, bytes, made);
  if (done) done = sync_file(fd, made);
  ::close(fd);
  if (done && name(made.c_str(), path.c_str()) != 0 && errno != EEXIST)
    done = fail("{}: cannot be made: {}", path.string(), std::strerror(errno));
  ::unlink(made.c_str());
  return done;
}

/// Makes a file unless one exists at `path`.
Result<void> make_once(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  return ::access(path.c_str(), F_OK) == 0 ? Result<void>{} : make_file(path, bytes, ::link);
}

/// Removes a file that was left unfinished for long.
void sweep(const std::string& name, int folder) {
  struct stat info{};
  if (name.ends_with(kUnfinishedSuffix) && ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(info.st_mode) && info.st_mtime < now_s() - kUnfinishedFor_s)
    ::unlinkat(folder, name.c_str(), 0);
}

/// The first bytes of a file; none: the file does not exist.
Result<std::optional<std::string>> read_begin(const std::filesystem::path& path, std::size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  if (fd < 0) return fail("{}: cannot be read: {}", path.string(), std::strerror(errno));
  struct stat info{};
  const bool is_file = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  std::string text(is_file ? std::min(most, to_size(info.st_size)) : 0, '\0');
  const ::ssize_t got = is_file ? ::pread(fd, text.data(), text.size(), 0) : 0;
  ::close(fd);
  if (!is_file) return fail("{}: is no regular file", path.string());
  if (got < 0) return fail("{}: cannot be read", path.string());
  OCTAVO_TRY_VOID(check_mode(path, info.st_mode, kFileMode));
  text.resize(to_size(got));
  return text;
}

}  // namespace

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<StoreFolder> StoreFolder::open(const std::filesystem::path& path) {
  std::error_code ignored;  // mkdir reports the error
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  OCTAVO_TRY_VOID(make_folder(path));
  return open_existing(path);
}

Result<StoreFolder> StoreFolder::open_existing(const std::filesystem::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail("{}: {}", path.string(), std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return fail("{}: is no directory", path.string());
  OCTAVO_TRY_VOID(check_mode(path, info.st_mode, kFolderMode));
  return StoreFolder(path);
}

Result<BlockHashKey> StoreFolder::key() const {
  const std::filesystem::path path = path_ / "key";
  OCTAVO_TRY(auto text, read_begin(path, sizeof(BlockHashKey) + 1));
  if (!text) {
    std::array<unsigned char, sizeof(BlockHashKey)> fresh;
    fill_random(fresh);
    OCTAVO_TRY_VOID(make_once(path, std::as_bytes(std::span(fresh))));
    OCTAVO_TRY(text, read_begin(path, sizeof(BlockHashKey) + 1));  // another process may have made it
  }
  if (!text || text->size() != sizeof(BlockHashKey))
    return fail("{}: is no key of {} bytes", path.string(), sizeof(BlockHashKey));
  BlockHashKey key;
  std::memcpy(key.data(), text->data(), key.size());
  return key;
}

std::filesystem::path StoreFolder::folder_of(const AddressDigest& address) const { return path_ / hex_digits(address); }

Result<void> StoreFolder::add_address(const AddressDigest& address, std::string_view text) const {
  const std::filesystem::path folder = folder_of(address);
  OCTAVO_TRY_VOID(make_folder(folder));
  OCTAVO_TRY_VOID(make_once(folder / "address", std::as_bytes(std::span(text))));
  use_address(address);
  return {};
}

void StoreFolder::use_address(const AddressDigest& address) const {
  ::utimensat(AT_FDCWD, (folder_of(address) / "address").c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::string StoreFolder::address_text(const AddressDigest& address) const {
  const auto text = read_begin(folder_of(address) / "address", kShownAddressBytes);
  return text ? text->value_or("") : "";
}

Result<void> StoreFolder::put_index(const AddressDigest& address, std::span<const std::byte> bytes) const {
  return make_file(folder_of(address) / kIndexName, bytes, ::rename);
}

Result<std::string> StoreFolder::index_of(const AddressDigest& address) const {
  OCTAVO_TRY(auto bytes, read_begin(folder_of(address) / kIndexName, kMaxIndexBytes + 1));
  if (!bytes) return fail("there is none");
  if (bytes->size() > kMaxIndexBytes) return fail("it is larger than an index");
  return *std::move(bytes);
}

std::filesystem::path StoreFolder::run_path(const AddressDigest& address, const BlockHash& end) const {
  const std::string hex = hex_digits(std::as_bytes(std::span(&end, 1)));
  return folder_of(address) / hex.substr(0, 2) / (hex + std::string(kSuffix));
}

Result<void> StoreFolder::make_folder_of(const std::filesystem::path& run) const {
  return make_folder(run.parent_path());
}

std::vector<AddressDigest> StoreFolder::addresses() const {
  std::vector<AddressDigest> found;
  for_entries(path_, [&](const std::string& name, int) {
    if (const auto address = from_hex(name)) found.push_back(*address);
    return true;
  });
  std::ranges::sort(found);
  return found;
}

std::vector<AddressDigest> StoreFolder::outdated(std::span<const AddressDigest> addresses) const {
  struct Use {
    AddressDigest address;
    std::string model;
    std::int64_t used_s;
  };
  std::vector<Use> uses;
  for (const AddressDigest& address : addresses) {
    struct stat info{};
    if (::stat((folder_of(address) / "address").c_str(), &info) == 0)
      uses.push_back({address, model_of(address_text(address)), info.st_mtime});
  }
  std::vector<AddressDigest> outdated;
  for (const Use& use : uses)
    if (std::ranges::any_of(uses, [&](const Use& other) {
          return other.model == use.model && other.used_s > use.used_s + kOutdatedAfter_s;
        }))
      outdated.push_back(use.address);
  return outdated;
}

StoreListing StoreFolder::list(const Pause& pause) const {
  StoreListing listing;
  const std::vector<AddressDigest> all = addresses(), old = outdated(all);
  for (const AddressDigest& address : all)
    if (listing.is_complete) list_address(address, std::ranges::binary_search(old, address), pause, listing);
  return listing;
}

void StoreFolder::list_address(const AddressDigest& address, bool is_outdated, const Pause& pause,
                               StoreListing& listing) const {
  const std::filesystem::path folder = folder_of(address);
  const auto add = [&](const std::string& name, int fd) {
    struct stat info{};
    sweep(name, fd);
    if (::fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) return true;
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    listing.bytes += bytes;
    const auto end = name.ends_with(kSuffix) ? from_hex(std::string_view(name).substr(0, name.size() - kSuffix.size()))
                                             : std::nullopt;
    if (end && listing.files.size() < StoreListing::kMaxFiles)
      listing.files.push_back({.address = address,
                               .end = std::bit_cast<BlockHash>(*end),
                               .bytes = bytes,
                               .used_s = info.st_mtim.tv_sec,
                               .used_ns = info.st_mtim.tv_nsec,
                               .is_outdated = is_outdated});
    return pause();
  };
  listing.is_complete = for_entries(folder, [&](const std::string& name, int fd) {
    sweep(name, fd);
    return name.size() != 2 || for_entries(folder / name, add);
  });
}

bool StoreFolder::remove(const StoredFile& file) const {
  return ::unlink(run_path(file.address, file.end).c_str()) == 0 || errno == ENOENT || errno == ENOTDIR;
}

void StoreFolder::remove_if_empty(const AddressDigest& address) const {
  const std::filesystem::path folder = folder_of(address);
  bool is_empty = true;
  for_entries(folder, [&](const std::string& name, int) {
    if (name.size() == 2 && ::rmdir((folder / name).c_str()) != 0) is_empty = false;
    return true;
  });
  if (!is_empty) return;
  ::unlink((folder / "address").c_str());
  ::unlink((folder / kIndexName).c_str());
  ::rmdir(folder.c_str());
}

std::vector<StoredFile> choose_oldest(std::span<const StoredFile> files, std::uint64_t bytes,
                                      std::optional<std::uint64_t> max_bytes,
                                      std::optional<std::int64_t> used_before_s) {
  const auto is_old = [&](const StoredFile& file) { return used_before_s && file.used_s < *used_before_s; };
  std::vector<StoredFile> oldest(files.begin(), files.end());
  std::ranges::sort(oldest, {}, [&](const StoredFile& file) {
    return std::tuple(!is_old(file), !file.is_outdated, file.used_s, file.used_ns);
  });
  const auto last = std::ranges::find_if(oldest, [&](const StoredFile& file) {
    if (!is_old(file) && (!max_bytes || bytes <= *max_bytes)) return true;
    bytes -= std::min(bytes, file.bytes);
    return false;
  });
  oldest.erase(last, oldest.end());
  return oldest;
}

}  // namespace octavo
