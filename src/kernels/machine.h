// The limits of this machine: reading memory, byte products, float multiply-adds. Their loops have
// the level and the threads of the code that is compared with them.
//
// The code that measures owns it, and the thread that drives the pool uses it. octavo/machine.h is the public
// interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"

namespace octavo {

class Machine {
 public:
  /// The processor must support `level`.
  Machine(IsaLevel level, ThreadPool& pool);

  /// Reads blocks of `block_bytes` (a multiple of 64) at data + id * block_bytes, each once, in order, by a plain loop;
  /// threads take pieces of blocks.
  void read_blocks(const std::uint8_t* data, std::size_t block_bytes, std::span<const std::int32_t> ids);

  /// Bytes a second that all threads together read of `memory`, once, by the better of a plain loop and one that
  /// prefetches. Memory must be larger than the caches, or these are measured.
  double bytes_per_second(std::span<const std::uint8_t> memory);

  /// Multiply-adds a second of all threads together, in registers, measured for about ten milliseconds: of floats, and
  /// of bytes with sums in int32.
  double multiply_adds_per_second();
  double byte_multiply_adds_per_second();

 private:
  template <class Probe>
  double rate_of(Probe probe);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  std::uint64_t sink_ = 0;  // keeps results alive
};

}  // namespace octavo
