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
  /// Measures with the kernels of `level`, which the processor must support.
  Machine(IsaLevel level, ThreadPool& pool);

  /// Reads blocks of `block_bytes` (a multiple of 64) at data + id * block_bytes, each once, in order, by a plain loop;
  /// threads take pieces of blocks.
  void read_blocks(const std::uint8_t* data, std::size_t block_bytes, std::span<const std::int32_t> ids);

  /// The bytes per second that all threads together read of `memory`, once, by the better of a plain loop and one that
  /// prefetches. `memory` must be larger than the caches, or their rate is measured.
  double bytes_per_second(std::span<const std::uint8_t> memory);

  /// The multiply-adds per second of all threads together, in registers, measured for about ten milliseconds: of
  /// floats; below, of bytes with sums in int32.
  double multiply_adds_per_second();
  double byte_multiply_adds_per_second();

 private:
  template <class Probe>
  double rate_of(Probe probe);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  std::uint64_t sink_ = 0;  // it keeps the compiler from dropping results
};

}  // namespace octavo
