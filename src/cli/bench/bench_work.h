// The bytes and operations of a piece of work, and the least time that a machine needs for them: the roofline
// (Williams, Waterman and Patterson 2009) with which `octavo bench` compares its figures.
#pragma once

#include <span>

#include "octavo/engine.h"
#include "octavo/machine.h"

namespace octavo::cli {

/// The bytes that must be read, and the operations; a multiply-add is two.
struct Work {
  double bytes = 0;  // weights once in each step, and keys and values that a step's rows see
  double int8_ops = 0;
  double float_ops = 0;

  Work& operator+=(const Work& other);
};

/// The rows of one sequence in one step: their positions are first_row, first_row + 1, ...
struct SequenceRows {
  int first_row = 0;
  int num_rows = 0;
  bool logits = false;  // the last row has logits
};

/// The work of one step; as many experts count as if rows chose them by chance. The first `num_shared` positions of all
/// sequences are the same memory, which is read once.
Work step_work(const ModelInfo& info, std::span<const SequenceRows> sequences, int num_shared = 0);

/// The least time of a machine, in seconds: to read the bytes; to do the operations, first int8 ones, then float ones.
struct LeastTime {
  double memory_s = 0;
  double compute_s = 0;

  double seconds() const { return memory_s > compute_s ? memory_s : compute_s; }
  bool bound_by_memory() const { return memory_s > compute_s; }
};
LeastTime least_time(const Work& work, const MachineLimits& machine);

}  // namespace octavo::cli
