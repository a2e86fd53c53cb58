// The bytes and operations of a measured piece of work, and the least time that a machine needs for them: the roofline
// (Williams, Waterman and Patterson 2009) that `octavo bench` compares its figures with.
#pragma once

#include <span>

#include "octavo/engine.h"
#include "octavo/machine.h"

namespace octavo::cli {

/// Bytes that must be read, and operations; a multiply-add is two.
struct Work {
  double bytes = 0;  // weights once a step, keys and values of what a step's rows see
  double int8_ops = 0;
  double float_ops = 0;

  Work& operator+=(const Work& other);
};

/// Rows of one sequence in one step: they are at positions first_row, first_row + 1, ...
struct SequenceRows {
  int first_row = 0;
  int num_rows = 0;
  bool logits = false;  // of the last row
};

/// The work of one step; of experts as many are read as if rows chose them by chance. The first `num_shared` positions
/// of all sequences are the same memory, read once.
Work step_work(const ModelInfo& info, std::span<const SequenceRows> sequences, int num_shared = 0);

/// The least time that the machine takes, in seconds: to read the bytes; to do the operations, int8 ones and float
/// ones after each other.
struct LeastTime {
  double memory_s = 0;
  double compute_s = 0;

  double seconds() const { return memory_s > compute_s ? memory_s : compute_s; }
  bool bound_by_memory() const { return memory_s > compute_s; }
};
LeastTime least_time(const Work& work, const MachineLimits& machine);

}  // namespace octavo::cli
