// The limits of this machine, with which `octavo bench` compares the speeds that it measures.
#pragma once

#include <string>
#include <string_view>

#include "octavo/result.h"

namespace octavo {

/// The rates of all threads together. A multiply-add counts as two operations.
struct MachineLimits {
  std::string cpu = {};  // the processor's brand string
  std::string isa = {};  // the level whose instructions were timed
  int num_threads = 0;
  double read_bytes_per_s = 0;  // from memory larger than the caches
  double int8_ops_per_s = 0;    // products of int8, summed in int32
  double float_ops_per_s = 0;   // fused multiply-adds of float32
};

/// Measures the machine for about a second, with 256 MiB of memory and its own threads (0: one for each physical core).
/// Rates are medians of several runs. Errors: an `isa` that is unknown or that the processor lacks, no memory, no
/// threads.
Result<MachineLimits> measure_machine(int num_threads, std::string_view isa);

}  // namespace octavo
