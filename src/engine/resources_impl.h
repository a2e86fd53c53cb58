// The threads and the memory budget behind Resources.
#pragma once

#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "octavo/resources.h"

namespace octavo {

struct Resources::Impl {
  Impl(int num_threads, std::uint64_t kv_memory_bytes) : threads(num_threads), kv_memory(kv_memory_bytes) {}

  ThreadPool threads;
  MemoryBudget kv_memory;
};

}  // namespace octavo
