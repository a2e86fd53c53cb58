// The threads and the memory budget behind Resources, and the count of the engines that use the threads.
#pragma once

#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "engine/schedule/active_engines.h"
#include "octavo/resources.h"

namespace octavo {

struct Resources::Impl {
  Impl(int num_threads, std::uint64_t kv_memory_bytes) : threads(num_threads), kv_memory(kv_memory_bytes) {}

  ThreadPool threads;
  MemoryBudget kv_memory;
  ActiveEngines active_engines;
};

}  // namespace octavo
