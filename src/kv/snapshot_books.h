// The books of recurrent states: which snapshot holds the state of which sequence.
//
// A snapshot is the state of all recurrent layers of a sequence. A sequence that has computed anything holds one, its
// seat: a table of one entry. Forks share it until they advance, as they share blocks. Owned by KvBooks; it stays where
// it is, because tables point to its pool. One thread at a time.
#pragma once

#include <vector>

#include "kv/state_layout.h"
#include "octavo/kv/block_pool.h"
#include "octavo/kv/block_table.h"

namespace octavo {

class SnapshotBooks {
 public:
  /// `number`: of the pool, in copies and runs: the one behind those of the groups of blocks.
  SnapshotBooks(int number, int num_snapshots) : number_(number), pool_(num_snapshots) {}
  SnapshotBooks(const SnapshotBooks&) = delete;
  SnapshotBooks& operator=(const SnapshotBooks&) = delete;

  const BlockPool& pool() const { return pool_; }
  /// False of a model without recurrent layers.
  bool exist() const { return pool_.total_count() > 0; }

  /// An empty seat, which takes no further memory.
  BlockTable make_seat();
  /// Snapshots that take() would need: 0 or 1.
  int needed(const BlockTable& seat) const;
  /// Gives a sequence a snapshot that nobody else holds; there is one. A copy to make is appended to `copies`, in room
  /// that the caller has seen to.
  void take(BlockTable& seat, std::vector<BlockCopy>& copies);
  /// `child`, which is empty, holds what `parent` holds.
  void share(const BlockTable& parent, BlockTable& child);

  /// GroupBooks::release(): of all free ones, however many lie together.
  void release(std::vector<BlockRun>& runs);
  /// Runs that release() lists at most.
  std::size_t most_runs() const { return to_size(pool_.total_count() + 1) / 2; }

 private:
  const int number_;
  BlockPool pool_;
};

}  // namespace octavo
