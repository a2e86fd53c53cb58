// Attaches sequences to blocks of their prefix that others have computed, and publishes their own.
//
// A full block is published in the step that completes it. A prompt looks for more whenever something was published
// since it last looked, whether or not it has had rows. Where sequences have a recurrent state, only a checkpoint
// counts as published: blocks alone help nobody.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing of its own.
#pragma once

#include <cstdint>

#include "engine/schedule/scheduler_counts.h"
#include "engine/schedule/sequence.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class PrefixSharing {
 public:
  /// Both references must outlive it.
  PrefixSharing(KvCacheManager& kv, SchedulerCounts& counts) : kv_(kv), counts_(counts) {}

  /// How many blocks, or checkpoints, were published since the engine began.
  std::uint64_t num_publications() const { return num_publications_; }

  void count_publication() { ++num_publications_; }

  /// Attaches a sequence to published blocks of its tokens, behind those that it holds. Returns how many tokens were
  /// found; they count as computed.
  int extend(Sequence& sequence);
  /// Attaches a sequence that catches up, if there may be a block for it.
  void attach_published(Sequence& sequence);
  /// Counts the tokens of its prompt to which a sequence has attached, without those that it had itself before a
  /// preemption.
  void count_cached(Sequence& sequence);
  /// Finds where a new sequence parts from what its owner's others have published, and counts it if it does.
  void find_divergence(Sequence& sequence);
  /// Counts the tokens of its prompt that a new sequence looks for.
  void count_lookup(const Sequence& sequence);
  /// Commits the first `end` tokens of a sequence, which are computed: their full blocks can be found from now on.
  void commit(Sequence& sequence, int end);

 private:
  bool is_at_place(const Sequence& sequence) const;

  KvCacheManager& kv_;
  SchedulerCounts& counts_;
  std::uint64_t num_publications_ = 0;
};

}  // namespace octavo
