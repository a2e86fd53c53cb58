// Counts of blocks: how many are free, how many are promised, and how many a sequence needs.
//
// A sequence that catches up has a promise of blocks for all that it still has to compute, so that it does not run out
// half way. Decodes, other prompts and admissions leave these alone. Counts are by group. Whoever needs blocks counts
// once and hands the counts on: what others give up meanwhile might change a second count.
//
// Where sequences have a recurrent state, snapshots count as blocks of one more group. Checkpoints that are no
// sequence's state slot count as free.
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
  /// Both references must outlive it.
  BlockBudget(const KvCacheManager& kv, const PinnedPrefixes& pins, int max_step_tokens);

  int num_groups() const { return static_cast<int>(promised_.size()); }
  /// The blocks for so many tokens, in a group without a window.
  int blocks_for(std::int64_t num_tokens) const;
  /// How many blocks of a group only this sequence holds: they become free when it gives them back.
  int held_alone(const Sequence& sequence, int group) const;
  /// The most blocks of a group that a sequence may have to take at one time until all its tokens are computed.
  int to_promise(const Sequence& sequence, int group) const;

  /// Counts the promises to all running sequences anew.
  void count_promises(std::span<Sequence* const> running);
  /// Both add a running sequence's promise, if it catches up, or take it back, before anything about the sequence
  /// changes.
  void promise(const Sequence& sequence) {
    if (sequence.is_catching_up()) add_promise(sequence, 1);
  }
  void take_back(const Sequence& sequence) {
    if (sequence.is_catching_up()) add_promise(sequence, -1);
  }

  /// The free blocks of a group that are promised to nobody.
  int room(int group) const;
  /// Whether there is room for `needed` blocks, [groups].
  bool has_room_for(std::span<const int> needed) const;
  /// Counts the blocks that a sequence takes to compute its next `num_tokens` tokens: `needed`, [groups].
  void count_to_advance(const Sequence& sequence, int num_tokens, std::span<int> needed) const;
  /// Counts the blocks that a waiting sequence takes to compute all its tokens and to grow: `needed`, [groups].
  void count_to_start(const Sequence& sequence, std::span<int> needed) const;
  /// How many of its next `num_tokens` tokens a sequence that catches up has room for in its promise.
  int tokens_that_fit(const Sequence& sequence, int num_tokens) const;

 private:
  void add_promise(const Sequence& sequence, int sign);
  void take_back_last_holders(std::span<Sequence* const> running);

  const KvCacheManager& kv_;
  const PinnedPrefixes& pins_;
  int max_step_tokens_;
  std::vector<int> promised_;  // [groups] how many free blocks are promised
  std::vector<int> holders_;   // [snapshots] scratch of take_back_last_holders()
};

}  // namespace octavo
