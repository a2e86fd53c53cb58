// Makes room by taking it from sequences of worse rank: decides which gives way, and how much it gives up.
//
// Victims have a worse rank than the sequence that gets the room, and no rows in this step. A victim waits with the
// blocks that it still holds. The best rank is never a victim, so every sequence ends.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction.
#pragma once

#include <span>
#include <vector>

#include "engine/schedule/block_budget.h"
#include "engine/schedule/scheduler_counts.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/sequence_queues.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class Preemption {
 public:
  /// All references must outlive it.
  Preemption(KvCacheManager& kv, SequenceQueues& queues, BlockBudget& block_budget, SchedulerCounts& counts);

  /// Serves a running sequence that cannot advance otherwise: makes `needed` blocks, [groups], free and promised to
  /// nobody; false where it cannot. Others give up tail blocks that nobody else holds, worst rank first, and no more
  /// than needed. If that is not enough, they give up everything: blocks that several of them share become free with
  /// the last one.
  bool make_room(const Sequence& sequence, std::span<const int> needed);
  /// Makes blocks free to admit a sequence. Running sequences give way only where they have a lower priority or another
  /// owner, and where the sequence is then admitted; where nothing runs, suspended ones give up everything, too.
  bool make_room_to_admit(const Sequence& sequence, std::span<const int> needed);
  /// Stops a sequence, which then waits with all that it holds.
  void suspend(Sequence& sequence);
  /// Takes all blocks from a sequence, which then waits and holds nothing.
  void preempt_all(Sequence& victim);
  /// The sequence of worst rank that may have to give way to a running one; null if there is none.
  Sequence* victim_for(const Sequence& sequence) const { return victim_for(sequence, false, nullptr); }

 private:
  Sequence* victim_for(const Sequence& sequence, bool admits, const Sequence* before) const;
  bool preempt_tails(const Sequence& sequence, std::span<const int> needed, bool admits);
  bool preempt_wholly(const Sequence& sequence, std::span<const int> needed, bool admits);
  bool could_make_room(const Sequence& sequence, std::span<const int> needed);
  void preempt_tail(Sequence& victim, std::span<const int> needed);
  void count_missing(std::span<const int> needed);
  bool is_any_missing() const;
  int held_alone(const Sequence& sequence) const;
  int cut_tail(const Sequence& victim);
  void release_blocks(Sequence& victim);

  KvCacheManager& kv_;
  SequenceQueues& queues_;
  BlockBudget& block_budget_;
  SchedulerCounts& counts_;
  std::vector<int> missing_;  // [groups] scratch: how many needed blocks are still missing
};

}  // namespace octavo
