// The store on a disk: the index of one address, and the thread that reads and writes its files.
//
// Reads go before writes: a write in chunks lets them pass between two of them, and so does a look over the directory,
// which finds what other processes have written and removes what is too old or too much. The lock is held for look-ups
// in the index and for lists of tasks, never for a call to the disk.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kv_store/kv_store.h"
#include "kv_store/run_file.h"
#include "kv_store/run_index.h"
#include "kv_store/store_folder.h"

namespace octavo {

class DiskStore final : public KvStore {
 public:
  DiskStore(KvStoreOptions options, StoreFolder folder, std::string address, const StateLayout& layout,
            BlockMemory& memory, std::function<void()> wake);
  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;
  ~DiskStore() override = default;

  /// Begins to work. Throws std::system_error where there is no thread.
  void start();

  Found find(std::span<const BlockHash> chain, int known, int most) override;
  double read_rate() const override;
  double read_latency_s() const override;
  Job read(PrefixName prefix, std::vector<HeldBlock> blocks) override;
  Job write(PrefixName prefix, std::vector<HeldBlock> blocks) override;
  std::uint64_t bytes_in_flight() const override;
  void take_done(std::vector<Done>& done) override;
  bool wait(std::chrono::milliseconds most) override;
  void cancel_all() override;
  KvStoreCounts counts() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Task {
    Job job = 0;
    PrefixName prefix = {};
    std::vector<HeldBlock> blocks = {};
    std::uint64_t bytes = 0;
  };
  /// A block, and the file that it is read from.
  struct Need {
    BlockHash file = {};
    HeldBlock held = {};
  };
  /// What is left to write of a prefix: from `first` on; nothing where all of it is there.
  struct Plan {
    bool is_needed = false;
    int first = 0;
  };

  // With the lock held
  bool is_whole(const PrefixName& prefix) const;
  std::uint64_t bytes_between(int known, int end) const;
  Plan plan_write(const PrefixName& prefix) const;
  bool may_write(const PrefixName& prefix, std::uint64_t bytes) const;
  Job add_task(std::deque<Task>& tasks, bool accepted, Task task, bool is_read);

  // The thread's
  void work(const std::stop_token& stop);
  void end_waiting();
  void fail_all();
  void tell();
  bool pause(bool serves_reads);
  Pause pause_of_task(bool serves_reads);
  void serve_reads();
  bool serve_a_write();
  void look_over();
  bool take_next(std::deque<Task>& tasks, Task& task);
  void end_task(const Task& task, bool is_read, bool is_ok, double seconds);

  bool plan_read(const Task& task, std::vector<Need>& needs);
  bool read_blocks(const Task& task);
  bool read_from(const PrefixName& prefix, std::span<const Need> needs);
  bool write_blocks(const Task& task);
  bool write_run(const Task& task, RunHeader& header);
  RunResult<RunFile> open_run(const BlockHash& end) const;
  bool learn(const BlockHash& end, std::int64_t used_s);
  void blame(const BlockHash& end, const RunError& error);
  void forget_unlisted(const StoreListing& listing);
  void make_room(std::uint64_t bytes);
  void evict(std::span<const StoredFile> files);
  void touch(const PrefixName& prefix);
  void warn(const std::string& message);

  const KvStoreOptions options_;
  const StoreFolder folder_;
  const std::string address_;
  const AddressDigest digest_;
  const StateLayout layout_;
  const bool ends_alone_, has_all_blocks_;
  BlockMemory& memory_;
  const std::function<void()> wake_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;  // there is something to do
  std::condition_variable ended_;        // a task has ended
  RunIndex index_;
  std::deque<Task> reads_, writes_;
  std::size_t num_running_ = 0;
  std::vector<Done> done_;                  // with room for all tasks
  std::atomic<bool> is_cancelled_ = false;  // what runs shall end
  bool must_tell_ = false, was_used_ = false, has_looked_ = false, has_ended_ = false;
  Job next_job_ = 1;
  std::uint64_t bytes_in_flight_ = 0;
  KvStoreCounts counts_;
  double rate_, latency_s_;

  // The thread's alone
  std::stop_token stop_;
  std::optional<Clock::time_point> warned_;
  Clock::time_point next_look_;

  std::jthread thread_;  // ends first
};

}  // namespace octavo
