// Counts of blocks: those that are free, those that are promised, and those that a sequence needs.
//
// A sequence that catches up has been promised the blocks of all that it has yet to compute, so that it does not run
// out half way. Decodes, other prompts and admissions leave them alone. Counts of blocks are by group, and whoever
// needs some asks once and hands the counts along: what others give up meanwhile may change what an answer would be.
//
// Where sequences have a recurrent state, the snapshots that hold one are counted as blocks of one more group.
// Checkpoints that are nobody's state slot count as free.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/pinned_prefixes.h"
#include "engine/schedule/sequence.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class BlockBudget {
 public:
  /// Both must outlive it.
  BlockBudget(const KvCacheManager& kv, const PinnedPrefixes& pins, int max_step_tokens);

  int num_groups() const { return static_cast<int>(promised_.size()); }
  /// Blocks that hold so many tokens of a group without a window.
  int blocks_for(std::int64_t num_tokens) const;
  /// Blocks that a sequence holds and nobody else does, in a group: they become free when it gives them back.
  int held_alone(const Sequence& sequence, int group) const;
  /// Blocks that a sequence may have to take, at one time, until all its tokens are computed.
  int to_promise(const Sequence& sequence, int group) const;

  /// Counts the promises to all that run anew.
  void count_promises(std::span<Sequence* const> running);
  /// Counts that to a running sequence, if it catches up; takes it back, before anything of the sequence changes.
  void promise(const Sequence& sequence) {
    if (sequence.is_catching_up()) add_promise(sequence, 1);
  }
  void take_back(const Sequence& sequence) {
    if (sequence.is_catching_up()) add_promise(sequence, -1);
  }

  /// Free blocks that are promised to nobody.
  int room(int group) const;
  /// There is room for `needed` blocks, [groups].
  bool has_room_for(std::span<const int> needed) const;
  /// [groups] blocks that a sequence takes to compute its next `num_tokens` tokens.
  void count_to_advance(const Sequence& sequence, int num_tokens, std::span<int> needed) const;
  /// [groups] blocks that a waiting sequence takes to compute all its tokens and to grow.
  void count_to_start(const Sequence& sequence, std::span<int> needed) const;
  /// Tokens, of its next `num_tokens`, that a sequence that catches up has room for in what was promised to it.
  int tokens_that_fit(const Sequence& sequence, int num_tokens) const;

 private:
  void add_promise(const Sequence& sequence, int sign);
  void take_back_last_holders(std::span<Sequence* const> running);

  const KvCacheManager& kv_;
  const PinnedPrefixes& pins_;
  int max_step_tokens_;
  std::vector<int> promised_;  // [groups] of the free blocks
  std::vector<int> holders_;   // [snapshots] scratch of take_back_last_holders()
};

}  // namespace octavo
