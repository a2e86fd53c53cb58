// Turns a step's plan into the flat arrays that a ModelRunner reads, and remembers whose logits it asked for.
//
// Owned by the engine; only the thread that drives it may call it. Its arrays grow to the largest step seen and stay.
#pragma once

#include <span>
#include <vector>

#include "engine/scheduler.h"
#include "kv/kv_books.h"
#include "model/batch.h"

namespace octavo {

/// One row of logits: the distribution of the token after `position` of a planned sequence. Several rows of a sequence
/// may be drawn from in a step.
struct LogitRow {
  int planned;  // index into the plan
  int position;
  bool draws;  // a token at position + 1 is drawn from it
};

class BatchBuilder {
 public:
  /// Makes room for steps within `limits`. The cache, whose tables it copies, must outlive it.
  BatchBuilder(const KvBooks& kv, const Scheduler::Limits& limits);

  /// Takes room for tables of `num_blocks` blocks in each group, so that build() of sequences that have no more does
  /// not allocate.
  void reserve_tables(std::size_t num_blocks);

  /// Fills batch() and logit_rows() for `plan`: planned sequences in order, the rows of each in order. Logits are asked
  /// for where a token is drawn and for prompt rows whose logits are wanted.
  void build(std::span<const ScheduledSequence> plan, std::span<const BlockCopy> copies);

  /// Fills batch() with memory that `kv` gives back, and no rows: KvBooks::release_memory(). Allocates nothing.
  void build_release(KvBooks& kv, bool cached);

  const Batch& batch() const { return batch_; }
  /// Row i belongs to batch().logit_rows[i].
  std::span<const LogitRow> logit_rows() const { return logit_rows_; }

 private:
  void add_rows(int planned, const Sequence& sequence, int num_tokens);
  void add_tables(const Sequence& sequence, int kv_len);

  const KvBooks& kv_;
  Batch batch_;
  std::vector<LogitRow> logit_rows_;
};

}  // namespace octavo
