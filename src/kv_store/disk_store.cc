#include "kv_store/disk_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/started_thread.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxTasks = 1024;  // of one kind that wait
constexpr int kRestOfALook = 10;         // times as long as it took
constexpr std::chrono::minutes kWarnEvery{1};
constexpr std::chrono::seconds kLongestStart{1};  // what is found later in a large directory is known later
constexpr std::int64_t kTouchEvery_s = 60;        // of one file
constexpr std::uint64_t kFewBytes = std::uint64_t{256} << 10;  // fewer tell nothing of a rate
constexpr double kFirstRate = 500e6, kFirstLatency_s = 1e-3;   // until something is known
constexpr double kWeightOfLast = 0.25;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool is_less(const BlockHash& a, const BlockHash& b) { return a.low != b.low ? a.low < b.low : a.high < b.high; }

/// Those blocks that have a place in a file.
std::vector<HeldBlock> blocks_in(const RunHeader& header, std::span<const HeldBlock> blocks) {
  std::vector<HeldBlock> in;
  for (const HeldBlock& held : blocks)
    if (header.payload(held.pool, held.index).number < header.num_payloads()) in.push_back(held);
  return in;
}

std::string full_address(std::string_view address, const StateLayout& layout) {
  return fmt::format("{}\n{}\nrun files of version {}\n", address, layout.name(), kRunVersion);
}

}  // namespace

Result<BlockHashKey> KvStore::key_of(const std::filesystem::path& folder) {
  OCTAVO_TRY(const StoreFolder opened, StoreFolder::open(folder));
  return opened.key();
}

Result<std::unique_ptr<KvStore>> KvStore::open(const KvStoreOptions& options, std::string_view address,
                                               const StateLayout& layout, BlockMemory& memory,
                                               std::function<void()> wake) {
  OCTAVO_TRY_VOID(check_storable(layout));
  OCTAVO_TRY(StoreFolder folder, StoreFolder::open(options.folder));
  const std::string text = full_address(address, layout);
  OCTAVO_TRY_VOID(folder.add_address(digest_of(text), text));
  try {
    auto store = std::make_unique<DiskStore>(options, std::move(folder), text, layout, memory, std::move(wake));
    store->start();
    return store;
  } catch (...) {
    return std::unexpected(error_of_exception());
  }
}

DiskStore::DiskStore(KvStoreOptions options, StoreFolder folder, std::string address, const StateLayout& layout,
                     BlockMemory& memory, std::function<void()> wake)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      address_(std::move(address)),
      digest_(digest_of(address_)),
      layout_(layout),
      ends_alone_(ends_alone(layout)),
      has_all_blocks_(has_group_without_window(layout)),
      memory_(memory),
      wake_(std::move(wake)),
      rate_(kFirstRate),
      latency_s_(kFirstLatency_s) {}

void DiskStore::start() {
  thread_ = start_thread([this](const std::stop_token& stop) { work(stop); }, [this](const Error&) { fail_all(); });
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, kLongestStart, [this] { return has_looked_ || has_ended_; });
}

KvStore::Found DiskStore::find(std::span<const BlockHash> chain, int known, int most) {
  most = std::min(most, static_cast<int>(chain.size()));
  const std::scoped_lock lock(mutex_);
  was_used_ = true;
  int end = std::max(known, 0);
  if (has_all_blocks_)
    while (end < most && index_.file_with(chain[to_size(end)]) != nullptr) ++end;
  else
    end = most;
  if (ends_alone_)
    while (end > known && index_.file_ending(chain[to_size(end) - 1]) == nullptr) --end;
  return end > known ? Found{.num_blocks = end, .bytes = bytes_between(known, end)} : Found{};
}

double DiskStore::read_rate() const {
  const std::scoped_lock lock(mutex_);
  return rate_;
}

double DiskStore::read_latency_s() const {
  const std::scoped_lock lock(mutex_);
  return latency_s_;
}

std::uint64_t DiskStore::bytes_in_flight() const {
  const std::scoped_lock lock(mutex_);
  return bytes_in_flight_;
}

KvStoreCounts DiskStore::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void DiskStore::take_done(std::vector<Done>& done) {
  const std::scoped_lock lock(mutex_);
  done.insert(done.end(), done_.begin(), done_.end());
  done_.clear();
}

bool DiskStore::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, most, [this] { return !done_.empty(); });
}

void DiskStore::cancel_all() {
  std::unique_lock lock(mutex_);
  is_cancelled_ = true;
  end_waiting();
  ended_.wait(lock, [this] { return num_running_ == 0; });
  is_cancelled_ = false;
}

KvStore::Job DiskStore::read(PrefixName prefix, std::vector<HeldBlock> blocks) {
  const std::scoped_lock lock(mutex_);
  const bool accepted = is_whole(prefix) && reads_.size() < kMaxTasks;
  return add_task(reads_, accepted, {.prefix = std::move(prefix), .blocks = std::move(blocks)}, true);
}

KvStore::Job DiskStore::write(PrefixName prefix, std::vector<HeldBlock> blocks) {
  const std::scoped_lock lock(mutex_);
  std::uint64_t bytes = 0;
  bool accepted = is_whole(prefix) && writes_.size() < kMaxTasks;
  if (accepted) {
    const Plan plan = plan_write(prefix);
    if (plan.is_needed) bytes = bytes_between(plan.first, static_cast<int>(prefix.hashes.size()));
    accepted = may_write(prefix, bytes);
  }
  return add_task(writes_, accepted, {.prefix = std::move(prefix), .blocks = std::move(blocks), .bytes = bytes}, false);
}

bool DiskStore::is_whole(const PrefixName& prefix) const {
  return !prefix.hashes.empty() && prefix.tokens.size() == prefix.hashes.size() * to_size(layout_.block_size);
}

std::uint64_t DiskStore::bytes_between(int known, int end) const {
  std::uint64_t bytes = layout_.snapshot.bytes;
  for (int g = 0; g < layout_.num_groups(); ++g) {
    const int first = layout_.group(g).window == 0 ? known : first_seen(layout_, g, end);
    bytes += static_cast<std::uint64_t>(end - first) * layout_.block_bytes(g);
  }
  return bytes;
}

// Without a group that has all blocks, the rows of a whole prefix stand in its one file.
DiskStore::Plan DiskStore::plan_write(const PrefixName& prefix) const {
  std::size_t first = 0;
  while (first < prefix.hashes.size() && index_.file_with(prefix.hashes[first]) != nullptr) ++first;
  const bool ends = index_.file_ending(prefix.hashes.back()) != nullptr;
  const bool is_there = (first == prefix.hashes.size() || !has_all_blocks_) && (ends || !ends_alone_);
  return {.is_needed = !is_there, .first = has_all_blocks_ ? static_cast<int>(first) : 0};
}

bool DiskStore::may_write(const PrefixName& prefix, std::uint64_t bytes) const {
  if (options_.max_bytes != 0 && bytes > options_.max_bytes) return false;
  if (prefix.hashes.size() > RunIndex::kMaxBlocks / 2) return false;
  return bytes_in_flight_ == 0 || bytes_in_flight_ + bytes <= options_.max_bytes_in_flight;
}

KvStore::Job DiskStore::add_task(std::deque<Task>& tasks, bool accepted, Task task, bool is_read) {
  task.job = next_job_++;
  was_used_ = true;
  // Whoever ends a task needs no memory to say so.
  done_.reserve(done_.size() + num_running_ + reads_.size() + writes_.size() + 1);
  const Job job = task.job;
  const std::uint64_t bytes = task.bytes;
  if (accepted && !has_ended_) {
    tasks.push_back(std::move(task));
    bytes_in_flight_ += bytes;
  } else {
    done_.push_back({.job = job, .is_read = is_read, .is_ok = false});
    must_tell_ = true;
    ended_.notify_all();
  }
  changed_.notify_all();
  return job;
}

void DiskStore::work(const std::stop_token& stop) {
  stop_ = stop;
  look_over();
  {
    const std::scoped_lock lock(mutex_);
    has_looked_ = true;
    ended_.notify_all();
  }
  while (!stop.stop_requested()) {
    bool must_look = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, options_.look_every,
                        [this] { return must_tell_ || !reads_.empty() || !writes_.empty(); });
      must_look = (was_used_ || options_.ttl) && Clock::now() >= next_look_;
      if (must_look) was_used_ = false;
    }
    if (!pause(true)) return;
    if (serve_a_write()) tell();
    if (must_look) look_over();
  }
}

// With the lock held.
void DiskStore::end_waiting() {
  for (auto* tasks : {&reads_, &writes_}) {
    for (const Task& task : *tasks) {
      done_.push_back({.job = task.job, .is_read = tasks == &reads_, .is_ok = false});
      bytes_in_flight_ -= task.bytes;
    }
    tasks->clear();
  }
  must_tell_ = true;
  ended_.notify_all();
  changed_.notify_all();
}

void DiskStore::fail_all() {
  {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
    end_waiting();
  }
  if (wake_) wake_();
}

void DiskStore::tell() {
  {
    const std::scoped_lock lock(mutex_);
    if (!must_tell_) return;
    must_tell_ = false;
  }
  if (wake_) wake_();
}

bool DiskStore::pause(bool serves_reads) {
  if (stop_.stop_requested()) return false;
  tell();
  if (serves_reads) serve_reads();
  return !stop_.stop_requested();
}

Pause DiskStore::pause_of_task(bool serves_reads) {
  return [this, serves_reads] { return pause(serves_reads) && !is_cancelled_; };
}

bool DiskStore::take_next(std::deque<Task>& tasks, Task& task) {
  const std::scoped_lock lock(mutex_);
  if (tasks.empty()) return false;
  task = std::move(tasks.front());
  tasks.pop_front();
  ++num_running_;
  return true;
}

void DiskStore::end_task(const Task& task, bool is_read, bool is_ok, double seconds) {
  const std::scoped_lock lock(mutex_);
  --num_running_;
  bytes_in_flight_ -= task.bytes;
  if (is_read) ++(is_ok ? counts_.hits : counts_.misses);
  (is_read ? counts_.read_s : counts_.write_s) += seconds;
  done_.push_back({.job = task.job, .is_read = is_read, .is_ok = is_ok});
  must_tell_ = true;
  ended_.notify_all();
}

void DiskStore::serve_reads() {
  for (Task task; !stop_.stop_requested() && take_next(reads_, task);) {
    const auto start = Clock::now();
    bool is_ok = false;
    try {
      is_ok = read_blocks(task);
    } catch (...) {
      is_ok = false;  // there is no memory
    }
    end_task(task, true, is_ok, seconds_since(start));
    tell();
  }
}

bool DiskStore::serve_a_write() {
  Task task;
  if (!take_next(writes_, task)) return false;
  const auto start = Clock::now();
  bool is_ok = false;
  try {
    is_ok = write_blocks(task);
  } catch (...) {
    is_ok = false;
  }
  end_task(task, false, is_ok, seconds_since(start));
  return true;
}

bool DiskStore::plan_read(const Task& task, std::vector<Need>& needs) {
  const auto& hashes = task.prefix.hashes;
  needs.reserve(task.blocks.size());
  const std::scoped_lock lock(mutex_);
  for (const HeldBlock& held : task.blocks) {
    if (held.index < 0 || to_size(held.index) >= hashes.size()) return false;
    const bool is_anywhere = held.pool < layout_.num_groups() && layout_.group(held.pool).window == 0;
    const RunIndex::File* file =
        is_anywhere ? index_.file_with(hashes[to_size(held.index)]) : index_.file_ending(hashes.back());
    if (file == nullptr) return false;
    needs.push_back({.file = file->end, .held = held});
  }
  return true;
}

bool DiskStore::read_blocks(const Task& task) {
  std::vector<Need> needs;
  if (!plan_read(task, needs)) return false;
  std::ranges::sort(needs, [](const Need& a, const Need& b) { return is_less(a.file, b.file); });
  for (auto at = needs.begin(); at != needs.end();) {
    const auto end = std::find_if(at, needs.end(), [&](const Need& need) { return need.file != at->file; });
    if (!read_from(task.prefix, {at, end})) return false;
    at = end;
  }
  touch(task.prefix);
  return true;
}

bool DiskStore::read_from(const PrefixName& prefix, std::span<const Need> needs) {
  const auto start = Clock::now();
  const BlockHash end = needs.front().file;
  auto file = open_run(end);
  if (file && !file->header().is_of(prefix))
    file = std::unexpected(RunError{RunFault::kOther, "it is of another prefix"});
  if (!file) {
    blame(end, file.error());
    return false;
  }
  const double latency_s = seconds_since(start);
  const auto began = Clock::now();
  std::vector<HeldBlock> blocks;
  std::uint64_t bytes = 0;
  for (const Need& need : needs) {
    blocks.push_back(need.held);
    bytes += file->header().payload(need.held.pool, need.held.index).bytes;
  }
  if (const auto done = file->read(blocks, layout_, memory_, pause_of_task(false)); !done) {
    blame(end, done.error());
    return false;
  }
  const double seconds = seconds_since(began);
  const std::scoped_lock lock(mutex_);
  counts_.read_bytes += bytes;
  latency_s_ += kWeightOfLast * (latency_s - latency_s_);
  if (bytes >= kFewBytes && seconds > 0) rate_ += kWeightOfLast * (static_cast<double>(bytes) / seconds - rate_);
  return true;
}

RunResult<RunFile> DiskStore::open_run(const BlockHash& end) const {
  auto file = RunFile::open(folder_.run_path(digest_, end));
  if (file && (!file->header().fits(digest_, layout_) || file->header().last() != end))
    return std::unexpected(RunError{RunFault::kDamaged, "it is a file of another name or address"});
  return file;
}

bool DiskStore::learn(const BlockHash& end, std::int64_t used_s) {
  const auto file = open_run(end);
  if (!file) {
    blame(end, file.error());
    return true;
  }
  const std::scoped_lock lock(mutex_);
  return index_.add(file->header(), used_s);
}

void DiskStore::blame(const BlockHash& end, const RunError& error) {
  if (error.fault == RunFault::kStopped) return;
  const bool is_damaged = error.fault == RunFault::kDamaged;
  if (is_damaged) folder_.remove({.address = digest_, .end = end});
  if (error.fault == RunFault::kDisk || is_damaged) warn(error.message);
  const std::scoped_lock lock(mutex_);
  index_.forget(end);
  if (is_damaged) ++counts_.corrupt;
}

bool DiskStore::write_blocks(const Task& task) {
  const BlockHash& end = task.prefix.hashes.back();
  const auto plan = [&] {
    const std::scoped_lock lock(mutex_);
    return plan_write(task.prefix);
  };
  Plan planned = plan();
  if (planned.is_needed && ::access(folder_.run_path(digest_, end).c_str(), F_OK) == 0) {
    learn(end, now_s());  // that of another process
    planned = plan();
  }
  touch(task.prefix);
  if (!planned.is_needed) return true;
  RunHeader header = RunHeader::of(digest_, layout_, task.prefix, planned.first);
  if (blocks_in(header, task.blocks).size() != header.num_payloads()) return false;
  make_room(header.file_bytes());
  header = RunHeader::of(digest_, layout_, task.prefix, plan().first);  // a file before it may have made the room
  return write_run(task, header);
}

bool DiskStore::write_run(const Task& task, RunHeader& header) {
  const std::uint64_t bytes = header.file_bytes();
  if (header.header_bytes() > kMaxRunHeaderBytes) return false;
  if (options_.max_bytes != 0 && counts().bytes + bytes > options_.max_bytes) return false;
  const std::filesystem::path path = folder_.run_path(digest_, header.last());
  // The folder of an address may have been removed when it was empty.
  Result<void> made = folder_.make_folder_of(path);
  if (!made) made = folder_.add_address(digest_, address_);
  if (made) made = folder_.make_folder_of(path);
  if (!made) {
    warn(made.error().message);
    return false;
  }
  const std::vector<HeldBlock> blocks = blocks_in(header, task.blocks);
  const auto done = write_run_file(path, header, blocks, layout_, memory_, options_.write, pause_of_task(true));
  if (!done) {
    if (done.error().fault != RunFault::kStopped && done.error().fault != RunFault::kOther) warn(done.error().message);
    return false;
  }
  const std::scoped_lock lock(mutex_);
  const RunIndex::File* old = index_.file_ending(header.last());
  counts_.bytes += bytes - (old == nullptr ? 0 : old->bytes);
  ++counts_.writes;
  counts_.written_bytes += bytes;
  index_.add(header, now_s());
  return true;
}

void DiskStore::look_over() try {
  const auto start = Clock::now();
  const StoreListing listing = folder_.list([this] { return pause(true); });
  for (const StoredFile& file : listing.files) {
    if (file.address != digest_) continue;
    if (!pause(true)) return;
    {
      const std::scoped_lock lock(mutex_);
      if (index_.file_ending(file.end) != nullptr) continue;
    }
    if (!learn(file.end, file.used_s)) break;
  }
  if (!listing.is_complete) return;
  forget_unlisted(listing);
  {
    const std::scoped_lock lock(mutex_);
    counts_.bytes = listing.bytes;
  }
  const auto max_bytes = options_.max_bytes == 0 ? std::nullopt : std::optional(options_.max_bytes);
  const auto used_before_s = options_.ttl ? std::optional(now_s() - options_.ttl->count()) : std::nullopt;
  evict(choose_oldest(listing.files, listing.bytes, max_bytes, used_before_s));
  next_look_ = Clock::now() + std::max<Clock::duration>(options_.look_every, kRestOfALook * (Clock::now() - start));
} catch (...) {
  next_look_ = Clock::now() + options_.look_every;
  warn(error_of_exception().message);
}

void DiskStore::forget_unlisted(const StoreListing& listing) {
  if (listing.files.size() >= StoreListing::kMaxFiles) return;  // others may be there
  std::vector<BlockHash> listed;
  for (const StoredFile& file : listing.files)
    if (file.address == digest_) listed.push_back(file.end);
  std::ranges::sort(listed, is_less);
  const std::scoped_lock lock(mutex_);
  for (const BlockHash& end : index_.ends())
    if (!std::ranges::binary_search(listed, end, is_less)) index_.forget(end);
}

void DiskStore::make_room(std::uint64_t bytes) {
  if (options_.max_bytes == 0 || counts().bytes + bytes <= options_.max_bytes || bytes > options_.max_bytes) return;
  const StoreListing listing = folder_.list([this] { return pause(true); });
  if (!listing.is_complete) return;
  {
    const std::scoped_lock lock(mutex_);
    counts_.bytes = listing.bytes;
  }
  if (listing.bytes + bytes <= options_.max_bytes) return;
  // A little more than is needed, so that not every write lists all files.
  const std::uint64_t left = options_.max_bytes - bytes;
  evict(choose_oldest(listing.files, listing.bytes, left - std::min(left, options_.max_bytes / 20), {}));
}

void DiskStore::evict(std::span<const StoredFile> files) {
  for (const StoredFile& file : files) {
    if (!pause(true)) return;
    if (!folder_.remove(file)) {
      warn(fmt::format("{}: cannot be removed", folder_.run_path(file.address, file.end).string()));
      continue;
    }
    const std::scoped_lock lock(mutex_);
    if (file.address == digest_) index_.forget(file.end);
    ++counts_.evictions;
    counts_.bytes -= std::min(counts_.bytes, file.bytes);
  }
}

// Of the whole prefix: what is before the blocks that are read or written is used with them, whoever has it in memory.
void DiskStore::touch(const PrefixName& prefix) {
  std::vector<BlockHash> used;
  const std::int64_t now = now_s();
  const auto use = [&](RunIndex::File* file) {
    if (file == nullptr || now - file->used_s < kTouchEvery_s) return;
    file->used_s = now;
    used.push_back(file->end);
  };
  {
    const std::scoped_lock lock(mutex_);
    for (const BlockHash& hash : prefix.hashes) use(index_.file_with(hash));
    use(index_.file_ending(prefix.hashes.back()));
  }
  for (const BlockHash& end : used)
    ::utimensat(AT_FDCWD, folder_.run_path(digest_, end).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void DiskStore::warn(const std::string& message) try {
  const auto now = Clock::now();
  if (!options_.warn || (warned_ && now - *warned_ < kWarnEvery)) return;
  warned_ = now;
  options_.warn(message);
} catch (...) {
  return;  // there is no memory to say so
}

}  // namespace octavo
