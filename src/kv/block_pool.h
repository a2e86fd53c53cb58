// Hands out the KV blocks of one attention group: integers and reference counts, no memory.
//
// A block id stands for `block_size` tokens of every layer of the group. Owned by the engine; only the thread that
// drives the engine may call it. Nothing here throws, and nothing allocates after construction except
// check_integrity() on its first call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace octavo {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

class BlockPool {
 public:
  /// Ids 0 .. capacity - 1, all free; capacity may be 0. Without a hint a fresh pool hands them out in ascending order.
  explicit BlockPool(int capacity);

  struct Stats {
    int total = 0;
    int free = 0;
    int referenced = 0;
    double utilization = 0;  // referenced / total; 0 for an empty pool
  };
  Stats stats() const;
  int free_count() const { return num_free_; }
  int total_count() const { return static_cast<int>(nodes_.size()); }

  /// A free block with one reference, or kNoBlock. `hint` is the block that the caller's new one will follow: its
  /// neighbour hint + 1 is taken if free, because consecutive ids are consecutive memory and are read twice as fast as
  /// scattered ones. Otherwise, or with kNoBlock, the block freed last: it is the warmest in cache.
  BlockId allocate(BlockId hint = kNoBlock);

  /// Fills `out` with blocks, each the neighbour of the one before where that is free. All or nothing: false leaves
  /// the pool as it was.
  bool allocate_run(std::span<BlockId> out, BlockId hint = kNoBlock);

  /// One more owner of a block that has at least one.
  void add_reference(BlockId id);
  /// One owner less; the last one frees the block. A free block or an id out of range is a bug of the caller (CHECK).
  void release(BlockId id);
  /// 0 for a free block. -1 for an id out of range, so that a public border can turn it into an error.
  int references(BlockId id) const;

  /// Compares counts and the free list with the tables that hold blocks of this pool: free + referenced = total, and
  /// every reference explained by a table. The error says which block is wrong and how.
  Result<void> check_integrity(std::span<const std::span<const BlockId>> tables) const;

 private:
  // The free list is a ring through the nodes and a sentinel, so that a block anywhere in it is taken out in O(1):
  // by its neighbour's hint now, by a prefix-cache hit when freed blocks keep their contents. Taken from the front;
  // a freed block goes to the front, one worth keeping will go to the back, so that it is evicted last.
  struct Node {
    BlockId previous, next;  // valid while free
    std::int32_t references;
  };
  BlockId sentinel() const { return total_count(); }
  Node& node(BlockId id) { return id == sentinel() ? ring_ : nodes_[static_cast<std::size_t>(id)]; }
  bool in_range(BlockId id) const { return id >= 0 && id < total_count(); }
  bool is_free(BlockId id) const { return in_range(id) && nodes_[static_cast<std::size_t>(id)].references == 0; }
  void unlink(BlockId id);
  void push_front(BlockId id);
  Result<void> check_free_list() const;

  std::vector<Node> nodes_;
  Node ring_{};
  int num_free_ = 0;
  mutable std::vector<std::int32_t> expected_;  // check_integrity's counts
};

}  // namespace octavo
