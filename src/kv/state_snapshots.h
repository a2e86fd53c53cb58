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
  /// `number`: the pool's number in copies and runs, after those of the groups of blocks.
  StateSnapshots(int number, int num_snapshots);
  StateSnapshots(const StateSnapshots&) = delete;
  StateSnapshots& operator=(const StateSnapshots&) = delete;

  BlockPool& pool() { return pool_; }
  const BlockPool& pool() const { return pool_; }
  /// Whether there are snapshots; false for a model without recurrent layers.
  bool exist() const { return pool_.total_count() > 0; }

  /// An empty state slot, which takes no further memory.
  BlockTable make_state_slot();
  /// The number of snapshots that take() would need: 0 or 1.
  int needed(const BlockTable& state_slot) const;
  /// Gives a sequence a snapshot that nobody else holds and that is no checkpoint; one must be free. Appends the copy
  /// to make, if any, to `copies`, which has room for it.
  void take(BlockTable& state_slot, std::vector<BlockCopy>& copies);
  /// Makes `child`, which is empty, hold what `parent` holds.
  void share(const BlockTable& parent, BlockTable& child);

  // Checkpoints, each behind a block of one group whose blocks are published

  /// Makes room for checkpoints after blocks 0 .. num_blocks - 1.
  void make_checkpoints(int num_blocks) { behind_.assign(to_size(num_blocks), kNoBlock); }
  /// The checkpoint after a block, or kNoBlock.
  BlockId behind(BlockId block) const {
    return block == kNoBlock || behind_.empty() ? kNoBlock : behind_[to_size(block)];
  }
  /// Keeps a state slot's state as the one after a block, unless there is one already. `uses`: how many sequences are
  /// expected to go on from it, which counts for its worth. CHECKs that the state slot holds one.
  void keep(const BlockTable& state_slot, BlockId block, int uses);
  /// Makes the state slot hold the checkpoint after a block, in place of what it held. CHECKs that there is one.
  void attach(BlockTable& state_slot, BlockId block);
  /// Forgets the checkpoint after a block that can no longer be found; does nothing where there is none.
  void forget(BlockId block);
  int num_checkpoints() const { return num_checkpoints_; }

  /// Does what BlockManager::release() does, for all free snapshots, however many lie together.
  void release(std::vector<BlockRun>& runs);
  /// The most runs that release() lists.
  std::size_t most_runs() const { return to_size(pool_.total_count() + 1) / 2; }

  /// Checks that checkpoints and the blocks that they stand after name each other. `state_slots` are all that hold
  /// snapshots.
  Result<void> check_integrity(std::span<const std::span<const BlockId>> state_slots) const;

 private:
  struct Checkpoint {
    BlockId block = kNoBlock;  // the block that it stands after; kNoBlock: it is no checkpoint
    int uses = 0;
    std::int64_t worth = 0;
    std::uint64_t time = 0;  // the time of its last use: of equal worth, the older goes first
  };
  static constexpr int kMostUses = 16;  // the most uses that count: more would keep it too long after the last one

  BlockId least_of_free() const;
  bool is_worth_less(BlockId a, BlockId b) const;
  void set_worth(BlockId snapshot);
  void evict(BlockId snapshot);
  void give_up(BlockId snapshot);

  const int number_;
  BlockPool pool_;
  std::vector<BlockId> behind_;          // [blocks] the checkpoint after each; empty: there are none
  std::vector<Checkpoint> checkpoints_;  // [snapshots]
  int num_checkpoints_ = 0;
  std::int64_t worth_given_up_ = 0;  // the worth of the last one that was evicted
  std::uint64_t time_ = 0;           // counts uses
};

}  // namespace octavo
