// Follows the CPUs that the process may use while it runs, and makes a pool as wide as they are: a container's quota,
// its set of CPUs and an affinity mask may change at any time, and workers that take turns on too few CPUs wait for
// each other at every region.
//
// Its maker owns it beside the pool. A thread of its own looks twice a second, outside all steps; a pool of one worker
// has none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/thread_pool.h"

namespace octavo {

class CpuWatch {
 public:
  /// The number of threads that the process should use now, such as usable_cpus(); called on the watch's thread too.
  using Count = std::function<int()>;

  /// `pool` must outlive this. It keeps all its workers while `count` gives at least as many CPUs as at the beginning,
  /// and has no more than `count` gives while that is fewer. Throws std::system_error where the system refuses a
  /// thread.
  CpuWatch(ThreadPool& pool, Count count, std::chrono::milliseconds interval = std::chrono::milliseconds(500));
  ~CpuWatch();
  CpuWatch(const CpuWatch&) = delete;
  CpuWatch& operator=(const CpuWatch&) = delete;

 private:
  void look();

  ThreadPool& pool_;
  const Count count_;
  const std::chrono::milliseconds interval_;
  const int at_first_;  // what `count_` gave when the pool was made
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_;
};

}  // namespace octavo
