// Attaches sequences to blocks of their prefix that others have computed, and lets others find theirs.
//
// A full block is published in the step that completes it. A prompt looks for more whenever something was published
// since it last looked, whether it has had rows or not. Where sequences have a recurrent state, it is a checkpoint that
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
  /// The cache and the counters must outlive it.
  PrefixSharing(KvCacheManager& kv, SchedulerCounts& counts) : kv_(kv), counts_(counts) {}

  /// Blocks, or checkpoints, that were published since the engine began.
  std::uint64_t num_publications() const { return num_publications_; }

  void count_publication() { ++num_publications_; }

  /// Attaches to the published blocks of a sequence's tokens, behind those that it holds; the number of tokens found,
  /// which count as computed.
  int extend(Sequence& sequence);
  /// Attaches a sequence that catches up, if it may find any block.
  void attach_published(Sequence& sequence);
  /// Counts the tokens of its prompt that it has attached to, but for those that it has had itself before a preemption.
  void count_cached(Sequence& sequence);
  /// Finds where a new sequence parts from what its owner's others have published, and counts it if it does.
  void find_divergence(Sequence& sequence);
  /// Tokens of its prompt that a new sequence looks for.
  void count_lookup(const Sequence& sequence);
  /// The first `end` tokens of a sequence are computed: full blocks can be found from now on.
  void commit(Sequence& sequence, int end);

 private:
  bool is_at_place(const Sequence& sequence) const;

  KvCacheManager& kv_;
  SchedulerCounts& counts_;
  std::uint64_t num_publications_ = 0;
};

}  // namespace octavo
