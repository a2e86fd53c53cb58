// Prefixes that callers pin: their blocks stay in the KV memory until the pins are given back.
//
// A pin is a sequence of the cache that never advances. It holds the blocks, and the checkpoint, to which a prompt that
// continues the prefix attaches. Pins that begin alike share blocks, which count once. Pins take at most what the
// longest sequence leaves free in every pool, so that each sequence can still run alone.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Any thread may call max_tokens().
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

  /// The most tokens that can be pinned, in whole blocks; 0: the cache has no room for pins, or no prefix cache. Any
  /// thread.
  int max_tokens() const { return max_tokens_; }
  /// Pins the published blocks of a prompt that is computed, under its request's number; called once for each prompt.
  /// Errors: the pins would take more blocks than they may (kOutOfBlocks); no memory (kOutOfMemory).
  Result<void> pin(const Sequence& prompt);
  /// Gives a pin back. False: there is none with this number.
  bool unpin(RequestId id);

  /// How many blocks of a pool the pins hold.
  int num_blocks(int pool) const { return pools_[to_size(pool)].num_pinned; }
  /// The bytes of the blocks and checkpoints that the pins hold.
  std::uint64_t bytes() const;

 private:
  struct Pool {
    int max_pinned = 0, num_pinned = 0;
    std::vector<std::uint32_t> pins = {};  // [blocks] how many pins hold each; empty until one does
  };

  std::span<const BlockId> blocks_of(SequenceId pin, int pool) const;
  void attach(SequenceId pin, const Sequence& prompt);
  void count(SequenceId pin, bool is_held);
  Result<void> check_counts(const Sequence& prompt) const;

  KvCacheManager& kv_;
  const int longest_sequence_;  // the tokens for which pins leave room
  std::vector<Pool> pools_;
  int max_tokens_ = 0;
  std::map<RequestId, SequenceId> pins_;
};

}  // namespace octavo
