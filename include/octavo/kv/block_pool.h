// Hands out the KV blocks of one attention group: integers and reference counts, no memory.
//
// A block id stands for `block_size` tokens of every layer of the group. A block is referenced (one holder or more), or
// free; a free block may be cached: its contents are worth finding again (PrefixCache), so it is reused last. The order
// of the free blocks is the order of eviction.
//
// One thread at a time may call a pool. No call throws or allocates after construction, except check_integrity() on its
// first call and the message of an error.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "octavo/kv/listeners.h"
#include "octavo/kv/types.h"

namespace octavo {

class BlockPool {
 public:
  /// Makes a pool of the ids 0 .. capacity - 1, all free; CHECKs the capacity, which may be 0. Without hints a new pool
  /// hands out its ids in ascending order.
  explicit BlockPool(int capacity);

  /// Takes a free block with one reference, or gives kNoBlock when none is free. `hint` is the block that the new one
  /// will follow: block hint + 1 is taken if it is free and not cached, because consecutive ids are consecutive memory
  /// and are read faster than scattered ones. Otherwise the uncached block that was freed last is taken (the warmest
  /// one in the CPU's caches); when all free blocks are cached, the one that was freed first, whose contents are
  /// forgotten (on_evict).
  BlockId allocate(BlockId hint = kNoBlock);

  /// Fills `out` with blocks, each the neighbour of the one before where allocate() would take the neighbour. False:
  /// too few are free, and the pool is unchanged.
  bool allocate_run(std::span<BlockId> out, BlockId hint = kNoBlock);

  /// Adds a holder to a referenced block, or to a free cached block, which is then no longer free.
  Result<void> add_reference(BlockId id);
  /// Removes a holder; the last one frees the block. A free block and an id out of range are errors, which change
  /// nothing.
  Result<void> free(BlockId id);
  /// The number of holders: 0 for a free block, -1 for an id out of range.
  int references(BlockId id) const;

  /// Marks the contents of a referenced or a free cached block as worth keeping, or removes the mark.
  Result<void> set_cached(BlockId id, bool cached);
  bool is_cached(BlockId id) const;
  /// Adds a listener that is told the id of each cached block whose contents allocate() or evict_all() gives up; the
  /// block is then no longer cached. The listener must not call the pool except for its figures.
  ListenerId on_evict(std::function<void(BlockId)> listener) { return on_evict_.add(std::move(listener)); }
  void remove_listener(ListenerId id) { on_evict_.remove(id); }

  /// Gives up the contents of all free blocks, in the order in which allocate() would do it.
  void evict_all();

  // The memory of the blocks: a block has memory from the time that it was handed out until give_back().
  struct Run {
    BlockId first = 0;
    int count = 0;  // consecutive ids
  };
  /// The first maximal run of free blocks that are not cached, from block `from` on; count 0: there is none.
  Run free_run(BlockId from) const;
  /// Notes that the system has the memory of such a run again.
  void give_back(Run run);
  /// Orders the uncached free blocks by id as in a new pool, but puts those that have memory first.
  void sort_free();

  int free_count() const { return num_free_ + num_cached_; }  // cached blocks, which may be evicted, included
  int total_count() const { return static_cast<int>(nodes_.size()); }
  /// The share of referenced blocks, 0 to 1; 0 for a pool of capacity 0.
  double utilization() const;

  struct Stats {
    int total = 0;
    int free = 0;    // neither referenced nor cached
    int cached = 0;  // free blocks whose contents are kept
    int referenced = 0;
    int resident = 0;  // blocks that have memory
    std::uint64_t evictions = 0;
  };
  Stats stats() const;

  /// Compares counts and the free lists with the tables that hold blocks of this pool (kNoBlock entries are skipped):
  /// free + cached + referenced = total, and every reference explained by a table. The error says which block is wrong
  /// and how.
  Result<void> check_integrity(std::span<const std::span<const BlockId>> tables) const;

 private:
  // Free blocks lie in two rings through the nodes, each with a sentinel node behind the last block, so that a block
  // anywhere in one is taken out in O(1).
  struct Node {
    BlockId previous = 0, next = 0;  // valid while free
    std::int32_t references = 0;
    bool cached = false;
    bool resident = false;  // whether it has memory
  };
  enum Ring : std::uint8_t { kUncached, kCached };

  BlockId sentinel(Ring ring) const { return total_count() + ring; }
  Node& node(BlockId id);
  const Node& node(BlockId id) const;
  bool in_range(BlockId id) const { return id >= 0 && id < total_count(); }
  void unlink(BlockId id);
  void link_behind(BlockId id, BlockId where);
  void put_into_ring(BlockId id);
  bool is_free_and_uncached(BlockId id) const { return references(id) == 0 && !is_cached(id); }
  Result<void> check_ring(Ring ring, int expected_length) const;

  std::vector<Node> nodes_;
  Node rings_[2];
  int num_free_ = 0;    // uncached
  int num_cached_ = 0;  // free and cached
  int num_resident_ = 0;
  std::uint64_t num_evictions_ = 0;
  Listeners<BlockId> on_evict_;
  mutable std::vector<std::int32_t> expected_;  // check_integrity's counts
};

}  // namespace octavo
