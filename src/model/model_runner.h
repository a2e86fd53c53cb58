// The device seam: a Batch of integers goes in, rows of logits come out. CPU now; nothing else crosses it.
//
// The engine keeps the books of what lies where; a runner owns the bytes. It says at load how sequences' state is laid
// out and how much of it there is room for. Owned by the engine, used by one thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include "kv/state_layout.h"
#include "model/batch.h"

namespace octavo {

/// Rows of logits that a runner keeps room for at once.
inline constexpr int kMaxLogitRows = 64;

/// The outcome of a batch.
struct BatchOutcome {
  bool is_refused = false;  // there was no memory for it: what it was to write must not be counted on
  std::uint64_t grown_bytes =
      0;  // of keys and values that lie in memory which grows; 0: it is all there from the start
  std::uint64_t expert_bytes = 0;                 // of mixtures: weights of the experts that its rows chose
  std::span<const std::int32_t> not_finite = {};  // its sequences that no router could place: nothing of their rows
                                                  // must be counted on. Valid until the next batch
};

class ModelRunner {
 public:
  virtual ~ModelRunner() = default;

  /// Stays as it is.
  virtual const StateRoom& state_room() const = 0;
  virtual int vocab_size() const = 0;
  /// Rows that one batch can have.
  virtual int max_rows() const = 0;

  /// Begins a batch, which stays as it is until wait() returns: gives memory back, makes the block copies, then runs
  /// all layers over its rows, if there are any, and writes their K and V into the blocks that it names.
  virtual void begin(const Batch& batch) = 0;
  /// Once after each begin(): until all of that is done.
  virtual BatchOutcome wait() = 0;

  /// Logits of the last batch's `logit_rows[first .. first + count)`, float32 [count, vocab_size]; count is at most
  /// kMaxLogitRows. Valid until the next call.
  virtual std::span<const float> logits(int first, int count) = 0;
};

}  // namespace octavo
