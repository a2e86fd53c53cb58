// The device seam: a Batch of integers goes in, rows of logits come out. CPU now; nothing else crosses it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/batch.h"

namespace octavo {

/// Rows of logits that a runner keeps room for at once.
inline constexpr int kMaxLogitRows = 64;

/// What the engine must know of a runner's KV memory to hand out its blocks.
struct KvGeometry {
  int block_size = 16;  // tokens a block
  struct Group {
    int num_blocks = 0;  // ids 0 .. num_blocks - 1
    int window = 0;      // tokens a layer of this group looks back; 0: all
  };
  std::vector<Group> groups;
};

class ModelRunner {
 public:
  virtual ~ModelRunner() = default;

  virtual const KvGeometry& kv_geometry() const = 0;
  virtual int vocab_size() const = 0;
  /// Rows that one forward can take.
  virtual int max_rows() const = 0;

  /// Runs all layers over the batch's rows and writes their K and V into the blocks it names.
  virtual void forward(const Batch& batch) = 0;

  /// Logits of the last forward's `logit_rows[first .. first + count)`, float32 [count, vocab_size]; count is at
  /// most kMaxLogitRows. Valid until the next call.
  virtual std::span<const float> logits(int first, int count) = 0;
};

}  // namespace octavo
