// The threads and the memory budget behind Resources, and the count of the engines that use the threads.
#pragma once

#include <utility>

#include "base/cpu_watch.h"
#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "engine/schedule/active_engines.h"
#include "octavo/resources.h"

namespace octavo {

struct Resources::Impl {
  /// `cpus` gives the number of threads that the process should use now (CpuWatch).
  Impl(int num_threads, CpuWatch::Count cpus, std::uint64_t kv_memory_bytes)
      : threads(num_threads), watch(threads, std::move(cpus)), kv_memory(kv_memory_bytes) {}

  ThreadPool threads;
  CpuWatch watch;
  MemoryBudget kv_memory;
  ActiveEngines active_engines;
};

}  // namespace octavo
