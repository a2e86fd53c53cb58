#include "hub/fetch_file.h"

#include <charconv>

#include "base/text.h"
#include "hub/digest.h"
#include "hub/file_lock.h"
#include "hub/listing.h"
#include "hub/partial_file.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kPatience{10};                     // the wait for another process that fetches the file
constexpr std::uint64_t kProgressBytes = std::uint64_t{1} << 20;  // so many new bytes reset the count of failures

/// The first byte of a range such as "bytes 100-199/200".
std::optional<std::uint64_t> begin_of_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  std::uint64_t begin = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), begin);
  if (error != std::errc() || end == text.data() + text.size() || *end != '-') return std::nullopt;
  return begin;
}

class Fetch {
 public:
  Fetch(HubClient& client, const FileWanted& wanted, PartialFile file, const Say& say, const FileProgress& progress)
      : client_(client), wanted_(wanted), size_(wanted.size), file_(std::move(file)), say_(say), progress_(progress) {}

  Result<void> run() {
    bool is_first_try = true;
    while (true) {
      const bool was_resumed = file_.is_resumed();
      OCTAVO_TRY_VOID(fetch_rest());
      if (file_.has_right_hash()) return file_.rename_to(wanted_.path);
      OCTAVO_TRY_VOID(file_.restart());
      if (!was_resumed || !is_first_try)
        return fail("{}: what came has another hash than {}: it was dropped", wanted_.url, wanted_.hash);
      is_first_try = false;
      say_(fmt::format("{}: what was there of it does not belong to it: fetching all of it", wanted_.url));
    }
  }

 private:
  bool is_whole() const { return size_ && file_.size() == *size_; }

  Result<void> fetch_rest() {
    int failures = 0;
    while (!is_whole()) {
      const std::uint64_t before = file_.size();
      HttpResult result = attempt();
      if (!result.error && (result.head.status == 200 || result.head.status == 206)) {
        if (!size_) size_ = file_.size();
        if (is_whole()) return {};
        result.error = Error{fmt::format("the answer ended after {} of {} bytes", file_.size(), *size_)};
        result.is_transient = true;
      }
      if (file_.size() >= before + kProgressBytes) failures = 0;
      ++failures;
      if (result.head.status == 416 && file_.size() > 0) {  // the server does not have the range
        OCTAVO_TRY_VOID(file_.restart());
        result.is_transient = true;
      }
      OCTAVO_TRY_VOID(client_.wait(result, failures, wanted_.url));
    }
    return {};
  }

  void tell() const { progress_(file_.size(), size_.value_or(0)); }

  HttpResult attempt() {
    tell();
    std::vector<std::string> fields;
    if (file_.size() > 0) fields.push_back(fmt::format("Range: bytes={}-", file_.size()));
    return client_.get(wanted_.url, fields,
                       {.on_head = [this](const HttpHead& head) { return take_head(head); },
                        .on_body = [this](std::span<const std::byte> bytes) { return take_body(bytes); }});
  }

  Result<void> take_head(const HttpHead& head) {
    OCTAVO_TRY_VOID(check_hash(head));
    if (head.status == 200 && file_.size() > 0) {  // the server sends the whole file, whatever was asked for
      OCTAVO_TRY_VOID(file_.restart());
      tell();
    }
    if (head.status == 206) {
      const auto range = head.find("content-range");
      const auto begin = range ? begin_of_range(*range) : std::nullopt;
      if (begin != file_.size())
        return fail("the answer is the range {}, expected one from byte {}", quote(range.value_or("")), file_.size());
    }
    const auto length = head.find_number("content-length");
    if (!length) return {};
    if (size_ && file_.size() + *length != *size_)
      return fail("the answer has {} bytes, expected {}", *length, *size_ - file_.size());
    if (!size_) {
      if (*length > ListingLimits::kFileBytes)
        return fail("the answer has {} bytes, expected at most {}", *length, ListingLimits::kFileBytes);
      size_ = file_.size() + *length;
      OCTAVO_TRY_VOID(check_room(wanted_.path.parent_path(), *length));
    }
    return {};
  }

  /// Error: the hub says that the file has another hash now.
  Result<void> check_hash(const HttpHead& head) const {
    const auto etag = head.find("x-linked-etag") ? head.find("x-linked-etag") : head.find("etag");
    const auto hash = etag ? hash_of_etag(*etag) : std::nullopt;
    if (!hash || *hash == wanted_.hash || hash->size() != wanted_.hash.size()) return {};
    return fail("the file changed meanwhile: its hash is {}, expected {}", *hash, wanted_.hash);
  }

  Result<void> take_body(std::span<const std::byte> bytes) {
    const std::uint64_t most = size_.value_or(ListingLimits::kFileBytes);
    if (bytes.size() > most - file_.size()) return fail("the answer goes on behind the file's {} bytes", most);
    OCTAVO_TRY_VOID(file_.append(bytes));
    tell();
    return {};
  }

  HubClient& client_;
  const FileWanted& wanted_;
  std::optional<std::uint64_t> size_;
  PartialFile file_;
  const Say& say_;
  const FileProgress& progress_;
};

Result<FileLock> lock_file(const FileWanted& wanted, const Say& say, const std::stop_token& stop) {
  std::optional<std::uintmax_t> seen;
  const auto has_progress = [&] {
    std::error_code ignored;
    const std::uintmax_t size = fs::file_size(wanted.partial_path, ignored);
    if (!seen) say(fmt::format("{}: another process is fetching it; waiting for it", wanted.url));
    const bool moved = size != seen;
    seen = size;
    return moved;
  };
  return FileLock::take(wanted.lock_path, kPatience, has_progress, stop);
}

}  // namespace

Result<void> fetch_file(HubClient& client, const FileWanted& wanted, const Say& say, const FileProgress& progress) {
  std::error_code error;
  if (fs::exists(wanted.path, error)) return {};
  for (const fs::path& folder : {wanted.path.parent_path(), wanted.lock_path.parent_path()}) {
    fs::create_directories(folder, error);
    if (error) return fail("{}: cannot be made: {}", folder.string(), error.message());
  }
  OCTAVO_TRY(const FileLock lock, lock_file(wanted, say, client.stop()));
  if (fs::exists(wanted.path, error)) return {};
  OCTAVO_TRY(PartialFile file, PartialFile::open(wanted.partial_path, wanted.hash,
                                                 wanted.size.value_or(ListingLimits::kFileBytes), client.stop()));
  return Fetch(client, wanted, std::move(file), say, progress).run();
}

Result<void> check_room(const fs::path& folder, std::uint64_t bytes) {
  std::error_code error;
  fs::path there = folder;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  const fs::space_info space = fs::space(there, error);
  if (error) return fail("{}: cannot tell how much room its disk has: {}", there.string(), error.message());
  if (space.available < bytes)
    return fail("{}: its disk has room for {} bytes, {} are to come", folder.string(), space.available, bytes);
  return {};
}

}  // namespace octavo::hub
