// The store on a disk: what waits to be read and written, and the two threads that do it.
//
// Reads never wait for writes: they have a thread of their own. The other one writes, and looks over the directory; it
// has a low priority, and a bound on its processor time, beyond which writes are refused. The lock is held for lists of
// tasks, never for a call to the disk.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kv_store/kv_store.h"
#include "kv_store/store_files.h"
#include "kv_store/write_budget.h"

namespace octavo {

class DiskStore final : public KvStore {
 public:
  DiskStore(KvStoreOptions options, StoreFolder folder, std::string address, const StateLayout& layout,
            BlockMemory& memory, std::function<void()> wake);
  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;
  ~DiskStore() override = default;

  /// Starts the threads. Throws std::system_error where the system refuses one.
  void start();

  Found find(std::span<const BlockHash> chain, int known, int most) override;
  double read_rate() const override;
  double read_latency_s() const override;
  Job read(PrefixName prefix, std::vector<HeldBlock> blocks) override;
  Job write(PrefixName prefix, std::vector<HeldBlock> blocks) override;
  void set_busy(bool is_busy) override;
  bool takes_writes() override;
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
    std::uint64_t bytes = 0;  // the bytes of a write
    double predicted_s = 0;   // the predicted seconds of a read
  };
  /// The tasks of one thread.
  struct Queue {
    bool is_read = false;
    std::deque<Task> waiting = {};
    std::condition_variable_any changed = {};  // signalled when there is a task, or an end
    bool has_ended = false;                    // whether its thread has ended
  };

  // These functions are called with the lock held.
  bool is_whole(const PrefixName& prefix) const;
  bool may_write(const PrefixName& prefix, std::uint64_t bytes);
  Job add_task(Queue& queue, bool accepted, Task task);
  void end_waiting(Queue& queue);

  // These functions run on the two threads.
  void begin(Queue& queue, std::jthread& thread, void (DiskStore::*work)(const std::stop_token&));
  void read_all(const std::stop_token& stop);
  void write_all(const std::stop_token& stop);
  bool serve_next(Queue& queue, const std::stop_token& stop);
  bool take_next(Queue& queue, Task& task);
  void end_task(const Queue& queue, const Task& task, bool is_ok, double seconds);
  double predict_read_s(std::span<const HeldBlock> blocks) const;
  Pause pause_of_task(const std::stop_token& stop) const;
  void tell();

  bool read_blocks(const Task& task, const Pause& pause);
  bool read_from(const PrefixName& prefix, std::span<const StoreFiles::Need> needs, const Pause& pause);
  bool write_blocks(const Task& task, const Pause& pause);
  bool write_run(const Task& task, RunHeader& header, const Pause& pause);
  void look_over(const std::stop_token& stop);

  const KvStoreOptions options_;
  const StateLayout layout_;
  BlockMemory& memory_;
  const std::function<void()> wake_;
  StoreFiles files_;

  mutable std::mutex mutex_;
  std::condition_variable ended_;  // signalled when a task has ended
  Queue reads_{.is_read = true}, writes_;
  std::size_t num_running_ = 0;
  std::vector<Done> done_;                  // it has room for all tasks
  std::atomic<bool> is_cancelled_ = false;  // whether the tasks that run shall end
  bool must_tell_ = false, was_used_ = false, is_known_ = false;
  Job next_job_ = 1;
  std::uint64_t bytes_in_flight_ = 0;
  WriteBudget budget_;
  const Clock::time_point began_ = Clock::now();
  KvStoreCounts counts_;
  double rate_, latency_s_;

  Clock::time_point next_look_;  // only the writer uses it

  std::jthread reader_, writer_;  // they end before the other members
};

}  // namespace octavo
