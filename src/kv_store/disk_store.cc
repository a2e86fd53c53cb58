#include "kv_store/disk_store.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/started_thread.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxTasks = 1024;                        // the most waiting tasks of one kind
constexpr int kRestOfALook = 10;                               // the pause after a look, in times of its length
constexpr std::chrono::seconds kLongestStart{1};               // a large directory becomes known only after the start
constexpr std::uint64_t kFewBytes = std::uint64_t{256} << 10;  // fewer say nothing about the rate
constexpr double kFirstRate = 500e6, kFirstLatency_s = 1e-3;   // values until something is measured
constexpr double kWeightOfLast = 0.25;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The processor time that this thread has used, in seconds.
double thread_seconds() {
  ::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Lowers the priority of this thread alone. Where the system refuses, the priority stays as it is.
void lower_priority() {
  constexpr int kNice = 10;
  constexpr int kThisThread = 1, kLeastOfBestEffort = 2 << 13 | 7;  // constants of ioprio_set(2), which has no header
  ::setpriority(PRIO_PROCESS, static_cast<::id_t>(::syscall(SYS_gettid)), kNice);
  ::syscall(SYS_ioprio_set, kThisThread, 0, kLeastOfBestEffort);
}

/// The blocks that have a place in a file.
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
      layout_(layout),
      memory_(memory),
      wake_(std::move(wake)),
      files_(options_, std::move(folder), std::move(address), layout),
      budget_(options_.write_share),
      rate_(kFirstRate),
      latency_s_(kFirstLatency_s) {}

void DiskStore::start() {
  begin(reads_, reader_, &DiskStore::read_all);
  begin(writes_, writer_, &DiskStore::write_all);
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, kLongestStart, [this] { return is_known_ || writes_.has_ended; });
}

/// Starts the thread of a queue. If it ends by an exception, all waiting tasks fail, and so do all later ones.
void DiskStore::begin(Queue& queue, std::jthread& thread, void (DiskStore::*work)(const std::stop_token&)) {
  thread = start_thread([this, work](const std::stop_token& stop) { (this->*work)(stop); },
                        [this, &queue](const Error&) {
                          {
                            const std::scoped_lock lock(mutex_);
                            queue.has_ended = true;
                            end_waiting(queue);
                          }
                          tell();
                        });
}

KvStore::Found DiskStore::find(std::span<const BlockHash> chain, int known, int most) {
  {
    const std::scoped_lock lock(mutex_);
    was_used_ = true;
  }
  return files_.find(chain, known, most);
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
  KvStoreCounts counts;
  {
    const std::scoped_lock lock(mutex_);
    counts = counts_;
  }
  files_.put_counts(counts);
  return counts;
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
  end_waiting(reads_);
  end_waiting(writes_);
  ended_.wait(lock, [this] { return num_running_ == 0; });
  is_cancelled_ = false;
}

KvStore::Job DiskStore::read(PrefixName prefix, std::vector<HeldBlock> blocks) {
  const std::scoped_lock lock(mutex_);
  const bool accepted = is_whole(prefix) && reads_.waiting.size() < kMaxTasks;
  const double predicted_s = predict_read_s(blocks);
  return add_task(reads_, accepted,
                  {.prefix = std::move(prefix), .blocks = std::move(blocks), .predicted_s = predicted_s});
}

double DiskStore::predict_read_s(std::span<const HeldBlock> blocks) const {
  std::uint64_t bytes = 0;
  for (const HeldBlock& held : blocks)
    bytes += held.pool < layout_.num_groups() ? layout_.block_bytes(held.pool) : layout_.snapshot.bytes;
  return latency_s_ + static_cast<double>(bytes) / rate_;
}

KvStore::Job DiskStore::write(PrefixName prefix, std::vector<HeldBlock> blocks) {
  std::uint64_t bytes = 0;
  const bool whole = is_whole(prefix);
  if (whole) {
    const StoreFiles::Plan plan = files_.plan_write(prefix);
    if (plan.is_needed) bytes = files_.bytes_between(plan.first, static_cast<int>(prefix.hashes.size()));
  }
  const std::scoped_lock lock(mutex_);
  const bool accepted = whole && may_write(prefix, bytes);
  return add_task(writes_, accepted, {.prefix = std::move(prefix), .blocks = std::move(blocks), .bytes = bytes});
}

void DiskStore::set_busy(bool is_busy) {
  const std::scoped_lock lock(mutex_);
  budget_.set_busy(seconds_since(began_), is_busy);
}

bool DiskStore::takes_writes() {
  const std::scoped_lock lock(mutex_);
  if (budget_.allows(seconds_since(began_), static_cast<double>(bytes_in_flight_))) return true;
  ++counts_.refused;
  return false;
}

bool DiskStore::is_whole(const PrefixName& prefix) const {
  return !prefix.hashes.empty() && prefix.tokens.size() == prefix.hashes.size() * to_size(layout_.block_size);
}

bool DiskStore::may_write(const PrefixName& prefix, std::uint64_t bytes) {
  if (options_.max_bytes != 0 && bytes > options_.max_bytes) return false;
  if (prefix.hashes.size() > RunIndex::kMaxBlocks / 2 || writes_.waiting.size() >= kMaxTasks) return false;
  if (bytes_in_flight_ != 0 && bytes_in_flight_ + bytes > options_.max_bytes_in_flight) return false;
  return budget_.allows(seconds_since(began_), static_cast<double>(bytes_in_flight_));
}

KvStore::Job DiskStore::add_task(Queue& queue, bool accepted, Task task) {
  task.job = next_job_++;
  was_used_ = true;
  // The room is reserved here, so that ending a task takes no memory.
  done_.reserve(done_.size() + num_running_ + reads_.waiting.size() + writes_.waiting.size() + 1);
  const Job job = task.job;
  const std::uint64_t bytes = task.bytes;
  if (accepted && !queue.has_ended) {
    queue.waiting.push_back(std::move(task));
    bytes_in_flight_ += bytes;
  } else {
    done_.push_back({.job = job, .is_read = queue.is_read, .is_ok = false});
    if (!queue.is_read) ++counts_.refused;
    must_tell_ = true;
    ended_.notify_all();
  }
  queue.changed.notify_all();
  return job;
}

void DiskStore::end_waiting(Queue& queue) {
  for (const Task& task : queue.waiting) {
    done_.push_back({.job = task.job, .is_read = queue.is_read, .is_ok = false});
    bytes_in_flight_ -= task.bytes;
  }
  queue.waiting.clear();
  must_tell_ = true;
  ended_.notify_all();
  queue.changed.notify_all();
}

void DiskStore::read_all(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      reads_.changed.wait(lock, stop, [this] { return must_tell_ || !reads_.waiting.empty(); });
    }
    tell();
    while (serve_next(reads_, stop)) tell();
  }
}

void DiskStore::write_all(const std::stop_token& stop) {
  const auto is_known = [this] {
    const std::scoped_lock lock(mutex_);
    is_known_ = true;
    ended_.notify_all();
  };
  if (files_.load_index()) is_known();
  look_over(stop);
  is_known();
  lower_priority();
  while (!stop.stop_requested()) {
    bool must_look = false;
    {
      std::unique_lock lock(mutex_);
      writes_.changed.wait_for(lock, stop, options_.look_every,
                               [this] { return must_tell_ || !writes_.waiting.empty(); });
      must_look = (was_used_ || options_.ttl) && Clock::now() >= next_look_;
      if (must_look) was_used_ = false;
    }
    tell();
    if (serve_next(writes_, stop)) tell();
    if (must_look) look_over(stop);
  }
  files_.save_index(true);
}

void DiskStore::tell() {
  {
    const std::scoped_lock lock(mutex_);
    if (!must_tell_) return;
    must_tell_ = false;
  }
  if (wake_) wake_();
}

Pause DiskStore::pause_of_task(const std::stop_token& stop) const {
  return [this, &stop] { return !stop.stop_requested() && !is_cancelled_; };
}

bool DiskStore::take_next(Queue& queue, Task& task) {
  const std::scoped_lock lock(mutex_);
  if (queue.waiting.empty()) return false;
  task = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  ++num_running_;
  return true;
}

void DiskStore::end_task(const Queue& queue, const Task& task, bool is_ok, double seconds) {
  const std::scoped_lock lock(mutex_);
  --num_running_;
  bytes_in_flight_ -= task.bytes;
  if (queue.is_read) ++(is_ok ? counts_.hits : counts_.misses);
  if (queue.is_read && is_ok) counts_.predicted_read_s += task.predicted_s;
  if (!queue.is_read && !is_ok) ++counts_.refused;
  (queue.is_read ? counts_.read_s : counts_.write_s) += seconds;
  done_.push_back({.job = task.job, .is_read = queue.is_read, .is_ok = is_ok});
  must_tell_ = true;
  ended_.notify_all();
}

bool DiskStore::serve_next(Queue& queue, const std::stop_token& stop) {
  Task task;
  if (stop.stop_requested() || !take_next(queue, task)) return false;
  const auto start = Clock::now();
  const double used_s = thread_seconds();
  bool is_ok = false;
  try {
    const Pause pause = pause_of_task(stop);
    is_ok = queue.is_read ? read_blocks(task, pause) : write_blocks(task, pause);
  } catch (...) {
    is_ok = false;  // there is not enough memory
  }
  if (!queue.is_read) {
    const std::scoped_lock lock(mutex_);
    counts_.write_cpu_s += thread_seconds() - used_s;
    budget_.charge(thread_seconds() - used_s, static_cast<double>(task.bytes));
  }
  end_task(queue, task, is_ok, seconds_since(start));
  return true;
}

bool DiskStore::read_blocks(const Task& task, const Pause& pause) {
  const std::vector<StoreFiles::Need> needs = files_.files_of(task.prefix, task.blocks);
  if (needs.size() != task.blocks.size()) return false;
  for (auto at = needs.begin(); at != needs.end();) {
    const auto end = std::find_if(at, needs.end(), [&](const auto& need) { return need.file != at->file; });
    if (!read_from(task.prefix, {at, end}, pause)) return false;
    at = end;
  }
  files_.touch(task.prefix);
  return true;
}

bool DiskStore::read_from(const PrefixName& prefix, std::span<const StoreFiles::Need> needs, const Pause& pause) {
  const auto start = Clock::now();
  const BlockHash end = needs.front().file;
  const auto file = files_.open(end, prefix);
  if (!file) {
    files_.blame(end, file.error());
    return false;
  }
  const double latency_s = seconds_since(start);
  const auto began = Clock::now();
  std::vector<HeldBlock> blocks;
  std::uint64_t bytes = 0;
  for (const StoreFiles::Need& need : needs) {
    blocks.push_back(need.held);
    bytes += file->header().payload(need.held.pool, need.held.index).bytes;
  }
  if (const auto done = file->read(blocks, layout_, memory_, pause); !done) {
    files_.blame(end, done.error());
    return false;
  }
  const double seconds = seconds_since(began);
  const std::scoped_lock lock(mutex_);
  counts_.read_bytes += bytes;
  latency_s_ += kWeightOfLast * (latency_s - latency_s_);
  if (bytes >= kFewBytes && seconds > 0) rate_ += kWeightOfLast * (static_cast<double>(bytes) / seconds - rate_);
  return true;
}

bool DiskStore::write_blocks(const Task& task, const Pause& pause) {
  if (files_.plan_write(task.prefix).is_needed) files_.learn_if_there(task.prefix.hashes.back());
  files_.touch(task.prefix);  // files that this one continues must not be removed to make room
  bool is_ok = true;
  if (files_.plan_write(task.prefix).is_needed) {
    RunHeader header = files_.header_of(task.prefix);
    if (blocks_in(header, task.blocks).size() != header.num_payloads()) return false;
    files_.make_room(header.file_bytes(), pause);
    header = files_.header_of(task.prefix);  // making room may have removed an earlier file of the prefix
    is_ok = write_run(task, header, pause);
  }
  if (is_ok) files_.touch(task.prefix);
  return is_ok;
}

bool DiskStore::write_run(const Task& task, RunHeader& header, const Pause& pause) {
  const std::optional<std::filesystem::path> path = files_.place_for(header);
  if (!path) return false;
  const std::vector<HeldBlock> blocks = blocks_in(header, task.blocks);
  const auto done = write_run_file(*path, header, blocks, layout_, memory_, options_.write, pause);
  if (!done) {
    if (done.error().fault != RunFault::kStopped && done.error().fault != RunFault::kOther)
      files_.warn(done.error().message);
    return false;
  }
  files_.add(header);
  const std::scoped_lock lock(mutex_);
  ++counts_.writes;
  counts_.written_bytes += header.file_bytes();
  return true;
}

void DiskStore::look_over(const std::stop_token& stop) {
  const auto start = Clock::now();
  const bool is_whole = files_.look_over([&] { return !stop.stop_requested(); });
  files_.save_index(false);
  next_look_ = Clock::now() + options_.look_every;
  if (is_whole)
    next_look_ = std::max<Clock::time_point>(next_look_, Clock::now() + kRestOfALook * (Clock::now() - start));
}

}  // namespace octavo
