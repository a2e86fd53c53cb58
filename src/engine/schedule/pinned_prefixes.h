// Prefixes that callers pin: their blocks stay in the KV memory until they are given back.
//
// A pin is a sequence of the cache that nobody advances; it holds the blocks, and the checkpoint, that a prompt behind
// the prefix attaches to. Pins that begin alike share blocks, which count once. They take what the longest sequence
// leaves free in every pool, so that whatever is pinned, each sequence can still run alone.
//
// Owned by the scheduler; only the thread that drives the engine may call it, but for max_tokens().
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/step_plan.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class PinnedPrefixes {
 public:
  /// The cache must outlive it.
  PinnedPrefixes(KvCacheManager& kv, const StepLimits& limits);

  /// Tokens that can be pinned at most, in whole blocks; 0: the cache has no room for any, or finds no prefixes. Any
  /// thread.
  int max_tokens() const { return max_tokens_; }
  /// Pins what is published of a prompt that is computed, under the number of its request; once for each prompt.
  /// Errors: the pins would take more blocks than they may (kOutOfBlocks); no memory (kOutOfMemory).
  Result<void> pin(const Sequence& prompt);
  /// Gives a pin back. False: there is none of that number.
  bool unpin(RequestId id);

  /// Blocks of a pool that pins hold.
  int num_blocks(int pool) const { return pools_[to_size(pool)].num_pinned; }
  /// Bytes of the blocks and checkpoints that pins hold.
  std::uint64_t bytes() const;

 private:
  struct Pool {
    int max_pinned = 0, num_pinned = 0;
    std::vector<std::uint32_t> pins = {};  // [blocks] how many pins hold each; empty until there is one
  };

  std::span<const BlockId> blocks_of(SequenceId pin, int pool) const;
  void attach(SequenceId pin, const Sequence& prompt);
  void count(SequenceId pin, bool is_held);
  Result<void> check_counts(const Sequence& prompt) const;

  KvCacheManager& kv_;
  const int longest_sequence_;  // tokens for which pins leave room
  std::vector<Pool> pools_;
  int max_tokens_ = 0;
  std::map<RequestId, SequenceId> pins_;
};

}  // namespace octavo
