// The snapshots of recurrent states: which snapshot holds the state of which sequence, and which are checkpoints.
//
// A snapshot is the state of all recurrent layers of a sequence. A sequence that has computed anything holds one, its
// state slot: a table of one entry. Forks share it until they advance, as they share blocks.
//
// A checkpoint is a snapshot that holds the state behind a published block, and is immutable like it. It is made of a
// state slot as it is, without a copy: whoever holds it and advances gets another one with a copy. It is kept as long
// as the block can be found and no snapshot is needed.
//
// Where one is needed, the checkpoint of least worth is given up. A new one is worth one more than the one that was
// given up last, and two for each time that a sequence went on from it (Cherkasova, Improving WWW Proxies Performance
// with Greedy-Dual-Size-Frequency Caching Policy, 1998, with one size). So the beginning of many prompts outlives what
// each of them leaves, but not for ever. A checkpoint whose last holder advances may be the one of least worth itself:
// then it is written in place, and is a checkpoint no more.
//
// Owned by KvCacheManager; it stays where it is, because tables point to its pool. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/state_layout.h"
#include "octavo/kv/block_pool.h"
#include "octavo/kv/block_table.h"

namespace octavo {

class StateSnapshots {
 public:
  /// `number`: of the pool, in copies and runs: the one behind those of the groups of blocks.
  StateSnapshots(int number, int num_snapshots);
  StateSnapshots(const StateSnapshots&) = delete;
  StateSnapshots& operator=(const StateSnapshots&) = delete;

  BlockPool& pool() { return pool_; }
  const BlockPool& pool() const { return pool_; }
  /// False of a model without recurrent layers.
  bool exist() const { return pool_.total_count() > 0; }

  /// An empty state slot, which takes no further memory.
  BlockTable make_state_slot();
  /// Snapshots that take() would need: 0 or 1.
  int needed(const BlockTable& state_slot) const;
  /// Gives a sequence a snapshot that nobody else holds and that is no checkpoint; there is one. A copy to make is
  /// appended to `copies`, in room that the caller has seen to.
  void take(BlockTable& state_slot, std::vector<BlockCopy>& copies);
  /// `child`, which is empty, holds what `parent` holds.
  void share(const BlockTable& parent, BlockTable& child);

  // Checkpoints, each behind a block of one group whose blocks are published

  /// From now on there may be some, behind blocks 0 .. num_blocks - 1.
  void make_checkpoints(int num_blocks) { behind_.assign(to_size(num_blocks), kNoBlock); }
  /// The checkpoint behind a block, or kNoBlock.
  BlockId behind(BlockId block) const {
    return block == kNoBlock || behind_.empty() ? kNoBlock : behind_[to_size(block)];
  }
  /// A state slot's state is the one behind a block: it is kept, unless one is there already. `uses`: how many
  /// sequences are expected to go on from it, which count for its worth. CHECKs that the state slot holds one.
  void keep(const BlockTable& state_slot, BlockId block, int uses);
  /// The state slot holds the checkpoint behind a block, instead of what it held. CHECKs that there is one.
  void attach(BlockTable& state_slot, BlockId block);
  /// The block can be found no more. Nothing where there is no checkpoint behind it.
  void forget(BlockId block);
  int num_checkpoints() const { return num_checkpoints_; }

  /// BlockManager::release(): of all free ones, however many lie together.
  void release(std::vector<BlockRun>& runs);
  /// Runs that release() lists at most.
  std::size_t most_runs() const { return to_size(pool_.total_count() + 1) / 2; }

  /// `state slots` are all that hold snapshots. Checkpoints and the blocks that they stand behind name each other.
  Result<void> check_integrity(std::span<const std::span<const BlockId>> state_slots) const;

 private:
  struct Checkpoint {
    BlockId block = kNoBlock;  // that it stands behind; kNoBlock: it is none
    int uses = 0;
    std::int64_t worth = 0;
    std::uint64_t time = 0;  // of its last use: of equal worth, the older goes first
  };
  static constexpr int kMostUses = 16;  // that count: more would keep it for too long after the last one

  BlockId least_of_free() const;
  bool is_worth_less(BlockId a, BlockId b) const;
  void set_worth(BlockId snapshot);
  void evict(BlockId snapshot);
  void give_up(BlockId snapshot);

  const int number_;
  BlockPool pool_;
  std::vector<BlockId> behind_;          // [blocks] the checkpoint behind each; empty: there are none
  std::vector<Checkpoint> checkpoints_;  // [snapshots]
  int num_checkpoints_ = 0;
  std::int64_t worth_given_up_ = 0;  // of the last one that was evicted
  std::uint64_t time_ = 0;           // counts uses
};

}  // namespace octavo
