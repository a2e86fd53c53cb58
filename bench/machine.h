// What the machine at hand can do: the rate of a plain loop over memory and the peak of fused multiply-adds, on the
// same threads and vector width as the code that is compared with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_info.h"
#include "base/thread_pool.h"

namespace octavo::bench {

class Machine {
 public:
  Machine(IsaLevel level, ThreadPool& pool) : level_(level), pool_(pool) {}

  /// Reads blocks of `block_bytes` at data + id * block_bytes, each once, in order; threads claim runs of blocks.
  void read_blocks(const std::uint8_t* data, std::size_t block_bytes, std::span<const std::int32_t> ids);

  /// Multiply-adds a second of all threads together, in registers: about a millisecond.
  double multiply_adds_per_second();

 private:
  IsaLevel level_;
  ThreadPool& pool_;
  std::uint64_t sink_ = 0;  // keeps results alive
};

}  // namespace octavo::bench
