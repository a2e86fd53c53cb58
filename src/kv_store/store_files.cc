#include "kv_store/store_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <new>
#include <utility>

#include "base/started_thread.h"
#include "base/to_size.h"
#include "kv_store/index_file.h"

namespace octavo {
namespace {

constexpr std::chrono::minutes kWarnEvery{1};
constexpr std::int64_t kTouchEvery_s = 60;  // the least time between two touches of a file
constexpr std::size_t kFewFiles = 64;       // the least number of files for which an index saves time
constexpr std::size_t kPartOfIndex = 8;     // the index is written when one in so many files is new

bool is_less(const BlockHash& a, const BlockHash& b) { return a.low != b.low ? a.low < b.low : a.high < b.high; }

}  // namespace

StoreFiles::StoreFiles(KvStoreOptions options, StoreFolder folder, std::string address, const StateLayout& layout)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      address_(std::move(address)),
      digest_(digest_of(address_)),
      layout_(layout),
      ends_alone_(ends_alone(layout)),
      has_all_blocks_(has_group_without_window(layout)) {}

KvStore::Found StoreFiles::find(std::span<const BlockHash> chain, int known, int most) const {
  most = std::min(most, static_cast<int>(chain.size()));
  const std::scoped_lock lock(mutex_);
  int end = std::max(known, 0);
  if (has_all_blocks_)
    while (end < most && index_.file_with(chain[to_size(end)]) != nullptr) ++end;
  else
    end = most;
  if (ends_alone_)
    while (end > known && index_.file_ending(chain[to_size(end) - 1]) == nullptr) --end;
  return end > known ? KvStore::Found{.num_blocks = end, .bytes = bytes_between(known, end)} : KvStore::Found{};
}

std::uint64_t StoreFiles::bytes_between(int known, int end) const {
  std::uint64_t bytes = layout_.snapshot.bytes;
  for (int g = 0; g < layout_.num_groups(); ++g) {
    const int first = layout_.group(g).window == 0 ? known : first_seen(layout_, g, end);
    bytes += static_cast<std::uint64_t>(end - first) * layout_.block_bytes(g);
  }
  return bytes;
}

// Where no group has all blocks, the rows of a whole prefix stand in its one file.
StoreFiles::Plan StoreFiles::plan_write(const PrefixName& prefix) const {
  const std::scoped_lock lock(mutex_);
  std::size_t first = 0;
  while (first < prefix.hashes.size() && index_.file_with(prefix.hashes[first]) != nullptr) ++first;
  const bool ends = index_.file_ending(prefix.hashes.back()) != nullptr;
  const bool is_there = (first == prefix.hashes.size() || !has_all_blocks_) && (ends || !ends_alone_);
  return {.is_needed = !is_there, .first = has_all_blocks_ ? static_cast<int>(first) : 0};
}

std::vector<StoreFiles::Need> StoreFiles::files_of(const PrefixName& prefix, std::span<const HeldBlock> blocks) const {
  const std::vector<BlockHash>& hashes = prefix.hashes;
  std::vector<Need> needs;
  needs.reserve(blocks.size());
  {
    const std::scoped_lock lock(mutex_);
    for (const HeldBlock& held : blocks) {
      if (held.index < 0 || to_size(held.index) >= hashes.size()) return {};
      const bool is_anywhere = held.pool < layout_.num_groups() && layout_.group(held.pool).window == 0;
      const RunIndex::File* file =
          is_anywhere ? index_.file_with(hashes[to_size(held.index)]) : index_.file_ending(hashes.back());
      if (file == nullptr) return {};
      needs.push_back({.file = file->end, .held = held});
    }
  }
  std::ranges::sort(needs, [](const Need& a, const Need& b) { return is_less(a.file, b.file); });
  return needs;
}

RunResult<RunFile> StoreFiles::open(const BlockHash& end) const {
  auto file = RunFile::open(folder_.run_path(digest_, end));
  if (file && (!file->header().fits(digest_, layout_) || file->header().last() != end))
    return std::unexpected(RunError{RunFault::kDamaged, "it is a file of another name or address"});
  return file;
}

RunResult<RunFile> StoreFiles::open(const BlockHash& end, const PrefixName& prefix) const {
  auto file = open(end);
  if (file && !file->header().is_of(prefix))
    return std::unexpected(RunError{RunFault::kOther, "it is of another prefix"});
  return file;
}

bool StoreFiles::learn(const BlockHash& end, std::int64_t used_s) {
  const auto file = open(end);
  if (!file) {
    blame(end, file.error());
    return true;
  }
  const std::scoped_lock lock(mutex_);
  ++num_new_;
  return index_.add(file->header(), used_s);
}

void StoreFiles::learn_if_there(const BlockHash& end) {
  if (::access(folder_.run_path(digest_, end).c_str(), F_OK) == 0) learn(end, now_s());
}

void StoreFiles::blame(const BlockHash& end, const RunError& error) {
  if (error.fault == RunFault::kStopped) return;
  const bool is_damaged = error.fault == RunFault::kDamaged;
  if (is_damaged) folder_.remove({.address = digest_, .end = end});
  if (error.fault == RunFault::kDisk || is_damaged) warn(error.message);
  const std::scoped_lock lock(mutex_);
  index_.forget(end);
  ++num_new_;
  if (is_damaged) ++corrupt_;
}

RunHeader StoreFiles::header_of(const PrefixName& prefix) const {
  return RunHeader::of(digest_, layout_, prefix, plan_write(prefix).first);
}

std::optional<std::filesystem::path> StoreFiles::place_for(const RunHeader& header) {
  if (header.header_bytes() > kMaxRunHeaderBytes) return std::nullopt;
  if (options_.max_bytes != 0 && bytes() + header.file_bytes() > options_.max_bytes) return std::nullopt;
  std::filesystem::path path = folder_.run_path(digest_, header.last());
  // The folder of an address may have been removed while it was empty.
  Result<void> made = folder_.make_folder_of(path);
  if (!made) made = folder_.add_address(digest_, address_);
  if (made) made = folder_.make_folder_of(path);
  if (made) return path;
  warn(made.error().message);
  return std::nullopt;
}

void StoreFiles::add(const RunHeader& header) {
  const std::scoped_lock lock(mutex_);
  const RunIndex::File* old = index_.file_ending(header.last());
  bytes_ += header.file_bytes() - (old == nullptr ? 0 : old->bytes);
  index_.add(header, 0);
  ++num_new_;
}

// Marks all files of a prefix as used, even where only later ones were read. A file that others continue must not be
// removed before these, so each file's use is a little later than the uses of the files that continue it.
void StoreFiles::touch(const PrefixName& prefix) {
  std::vector<BlockHash> used;
  const std::int64_t now = now_s();
  {
    const std::scoped_lock lock(mutex_);
    std::vector<RunIndex::File*> files;
    const auto add = [&](RunIndex::File* file) {
      if (file != nullptr && (files.empty() || files.back() != file)) files.push_back(file);
    };
    for (const BlockHash& hash : prefix.hashes) add(index_.file_with(hash));
    add(index_.file_ending(prefix.hashes.back()));
    while (!files.empty() && now - files.back()->used_s < kTouchEvery_s) files.pop_back();
    for (RunIndex::File* file : files) {
      file->used_s = now;
      used.push_back(file->end);
    }
  }
  ::timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  constexpr long kTogether_ns = 900'000'000;  // the range of times within which all files of a prefix are used
  const long apart = used.empty() ? 0 : kTogether_ns / static_cast<long>(used.size());
  time.tv_nsec = kTogether_ns;
  for (const BlockHash& end : used) {
    const std::array<::timespec, 2> times = {time, time};
    ::utimensat(AT_FDCWD, folder_.run_path(digest_, end).c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
    time.tv_nsec -= apart;
  }
}

bool StoreFiles::load_index() try {
  const Result<std::string> bytes = folder_.index_of(digest_);
  if (!bytes) return false;
  Result<RunIndex> index = parse_index(std::as_bytes(std::span(*bytes)), digest_);
  if (!index) return false;
  const std::scoped_lock lock(mutex_);
  index_ = *std::move(index);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void StoreFiles::save_index(bool is_end) try {
  RunIndex::Contents contents;
  {
    const std::scoped_lock lock(mutex_);
    if (num_new_ == 0 || index_.num_files() < kFewFiles) return;
    if (!is_end && num_new_ < std::max(kFewFiles, index_.num_files() / kPartOfIndex)) return;
    contents = index_.contents();
    num_new_ = 0;
  }
  if (const auto done = folder_.put_index(digest_, index_bytes(digest_, contents)); !done) warn(done.error().message);
} catch (const std::bad_alloc&) {
  return;  // the next program that starts reads the headers
}

bool StoreFiles::look_over(const Pause& pause) try {
  const StoreListing listing = folder_.list(pause);
  for (const StoredFile& file : listing.files) {
    if (file.address != digest_) continue;
    if (!pause()) return false;
    {
      const std::scoped_lock lock(mutex_);
      const RunIndex::File* known = index_.file_ending(file.end);
      if (known != nullptr && known->bytes == file.bytes) continue;
    }
    if (!learn(file.end, file.used_s)) break;
  }
  if (!listing.is_complete) return false;
  folder_.use_address(digest_);
  forget_unlisted(listing);
  set_bytes(listing.bytes);
  const auto max_bytes = options_.max_bytes == 0 ? std::nullopt : std::optional(options_.max_bytes);
  const auto used_before_s = options_.ttl ? std::optional(now_s() - options_.ttl->count()) : std::nullopt;
  evict(choose_oldest(listing.files, listing.bytes, max_bytes, used_before_s), pause);
  return true;
} catch (...) {
  warn(error_of_exception().message);
  return false;
}

void StoreFiles::forget_unlisted(const StoreListing& listing) {
  if (listing.files.size() >= StoreListing::kMaxFiles) return;  // the list may lack files that exist
  std::vector<BlockHash> listed;
  for (const StoredFile& file : listing.files)
    if (file.address == digest_) listed.push_back(file.end);
  std::ranges::sort(listed, is_less);
  const std::scoped_lock lock(mutex_);
  for (const BlockHash& end : index_.ends())
    if (!std::ranges::binary_search(listed, end, is_less)) {
      index_.forget(end);
      ++num_new_;
    }
}

void StoreFiles::make_room(std::uint64_t bytes, const Pause& pause) {
  const std::uint64_t most = options_.max_bytes;
  if (most == 0 || this->bytes() + bytes <= most || bytes > most) return;
  const StoreListing listing = folder_.list(pause);
  if (!listing.is_complete) return;
  set_bytes(listing.bytes);
  if (listing.bytes + bytes <= most) return;
  // A little more than needed is removed, so that not every write lists all files.
  const std::uint64_t left = most - bytes;
  evict(choose_oldest(listing.files, listing.bytes, left - std::min(left, most / 20), {}), pause);
}

void StoreFiles::evict(std::span<const StoredFile> files, const Pause& pause) {
  for (const StoredFile& file : files) {
    if (!pause()) return;
    if (!folder_.remove(file)) {
      warn(fmt::format("{}: cannot be removed", folder_.run_path(file.address, file.end).string()));
      continue;
    }
    const std::scoped_lock lock(mutex_);
    if (file.address == digest_) index_.forget(file.end);
    ++num_new_;
    ++evictions_;
    bytes_ -= std::min(bytes_, file.bytes);
  }
}

std::uint64_t StoreFiles::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void StoreFiles::set_bytes(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  bytes_ = bytes;
}

void StoreFiles::put_counts(KvStoreCounts& counts) const {
  const std::scoped_lock lock(mutex_);
  counts.corrupt = corrupt_;
  counts.evictions = evictions_;
  counts.bytes = bytes_;
}

void StoreFiles::warn(const std::string& message) try {
  const std::scoped_lock lock(warning_);
  const auto now = Clock::now();
  if (!options_.warn || (warned_ && now - *warned_ < kWarnEvery)) return;
  warned_ = now;
  options_.warn(message);
} catch (...) {
  return;  // there is no memory for the message
}

}  // namespace octavo
