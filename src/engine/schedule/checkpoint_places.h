// The places at which the recurrent states of prompts are kept, and which prompts wait for another to reach one.
//
// A prompt continues from a checkpoint or computes everything, so checkpoints are kept where that pays:
// - at the last whole block before the generation prompt, with which the next turn of a conversation begins;
// - at the last whole block of a prompt's last picture, behind which another question may stand;
// - where others that are to be read part from it, if that saves them more than a chunk that ends there costs;
// - every KvCacheManager::checkpoint_interval() tokens, so that they take no more memory than the keys and values
// beside them. A chunk ends at a place; but where intervals are shorter than chunks, not at the end of each: all ends
// within a chunk count as one place. Answers only pass this last kind of places.
//
// One of the prompts that begin alike computes what they share. The others wait until it has come to a place from which
// they can go on (docs/scheduling.md).
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing.
#pragma once

#include <cstdint>
#include <span>

#include "engine/schedule/sequence.h"
#include "engine/schedule/sequence_queues.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class CheckpointPlaces {
 public:
  /// How much a place where others part must save them together, in blocks of tokens: a step has a fixed cost of about
  /// four blocks of a prompt.
  static constexpr int kLeastSavedBlocks = 4;

  /// For chunks of up to `max_chunk_tokens`. Both references must outlive it.
  CheckpointPlaces(const KvCacheManager& kv, const SequenceQueues& queues, int max_chunk_tokens)
      : kv_(kv), queues_(queues), max_chunk_tokens_(max_chunk_tokens) {}

  /// Whether there are checkpoints: sequences have a state, and others can find it.
  bool exist() const { return kv_.keeps_checkpoints(); }
  /// Sets SchedulerNotes::checkpoint_at and checkpoint_uses: the first place after the computed tokens of a sequence,
  /// and how many others are expected to continue from it.
  void plan(Sequence& sequence) const;
  /// The running prompt that computes what this one needs next and will keep a state from which this one can continue;
  /// null if there is none. It is ahead of this one, or as far and has rows in this step.
  Sequence* claimant(const Sequence& sequence, std::span<Sequence* const> prompts) const;
  /// Gives claimants the best priority of those that wait for them: SchedulerNotes::priority_in_step.
  void raise_priorities(std::span<Sequence* const> prompts) const;

 private:
  struct Place {
    int at = 0, uses = 0;
  };
  std::int64_t end_of_interval(int at) const;
  int behind_pictures(const Sequence& sequence) const;
  Place place_of_others(const Sequence& sequence, Place before) const;
  int divergence(const Sequence& sequence, const Sequence& other) const;

  const KvCacheManager& kv_;
  const SequenceQueues& queues_;
  const int max_chunk_tokens_;
};

}  // namespace octavo
