// The device seam: a Batch of integers goes in, rows of logits come out. CPU now; nothing else crosses it.
#pragma once

#include <cstdint>
#include <span>

#include "model/batch.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {

/// Rows of logits that a runner keeps room for at once.
inline constexpr int kMaxLogitRows = 64;

class ModelRunner {
 public:
  virtual ~ModelRunner() = default;

  /// The memory of keys and values. The engine keeps its books: it makes sequences, reserves, commits and publishes;
  /// the runner reads and writes the blocks that a batch names.
  virtual PagedKvCache& kv() = 0;
  virtual int vocab_size() const = 0;
  /// Rows that one forward can take.
  virtual int max_rows() const = 0;

  /// Makes the batch's block copies, then runs all layers over its rows and writes their K and V into the blocks it
  /// names.
  virtual void forward(const Batch& batch) = 0;

  /// Logits of the last forward's `logit_rows[first .. first + count)`, float32 [count, vocab_size]; count is at
  /// most kMaxLogitRows. Valid until the next call.
  virtual std::span<const float> logits(int first, int count) = 0;
};

}  // namespace octavo
