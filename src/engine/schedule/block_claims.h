// The claims of a step: which sequence computes which block, so that no other computes it, too.
//
// A prompt whose next block another one claims waits for it, and attaches to it in the next step. Claims are made anew
// in each step: they pass on by themselves when their claimant is gone. One that waits for a picture, or whose joint
// pass is under way, keeps its claim of the block that it has begun.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction.
#pragma once

#include <span>
#include <vector>

#include "base/to_size.h"
#include "engine/schedule/sequence.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {

class BlockClaims {
 public:
  /// Makes room for a step of `max_step_tokens` rows and `max_sequences` sequences.
  BlockClaims(int block_size, int max_step_tokens, int max_sequences);

  void clear() { claims_.clear(); }
  /// Claims the blocks within which a chunk ended: the prompt that began a block computes the rest, and gets the best
  /// priority of those that wait for it. Sets SchedulerNotes::priority_in_step of all `prompts`.
  void claim_half_done_blocks(std::span<Sequence* const> prompts);
  /// Claims the full blocks that a sequence computes or begins with its next `num_tokens` tokens.
  void claim(Sequence& sequence, int num_tokens) {
    // Blocks without a hash, as those of an answer, cannot be needed by others.
    if (to_size(sequence.num_computed) < sequence.chain.size() * to_size(block_size_))
      claim_hashed(sequence, num_tokens);
  }
  /// The other sequence that computes the block that this one needs next, if this one could attach to that block; null:
  /// there is none.
  Sequence* claimant_of_next_block(const Sequence& sequence) const;

 private:
  struct Claim {
    BlockHash block;
    Sequence* claimant;
  };

  void claim_hashed(Sequence& sequence, int num_tokens);

  int block_size_;
  std::vector<Claim> claims_;
};

}  // namespace octavo
