// The blocks of one sequence in one attention group: position p lies in slot p % block_size of block p / block_size.
//
// A table holds one reference to each of its blocks, and gives the blocks back when it is destroyed. The pool must
// outlive the table; only the thread that uses the pool may call it. A sliding window gives its leading blocks back:
// their entries stay as kNoBlock, so that an index is always a position divided by the block size. Negative numbers of
// tokens and blocks that are not in use, which only a bug of the caller gives, are CHECKed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "octavo/kv/block_pool.h"

namespace octavo {

class BlockTable {
 public:
  /// `block_size` is in tokens, at least 1.
  BlockTable(BlockPool& pool, int block_size);
  ~BlockTable() { truncate(0); }
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  /// The number of entries, those of blocks that were given back included.
  int num_blocks() const { return static_cast<int>(blocks_.size()); }
  /// The number of tokens that the entries span.
  std::int64_t token_capacity() const { return static_cast<std::int64_t>(blocks_.size()) * block_size_; }
  /// All entries; kNoBlock where the block was given back.
  std::span<const BlockId> block_ids() const { return blocks_; }
  /// The block of an index; none for an index out of range and for a block that was given back.
  std::optional<BlockId> get(int index) const;
  /// The index of the first block that is held; num_blocks() if no block is held.
  int first_held() const { return first_held_; }

  /// The number of blocks that must be taken from the pool before `num_tokens` tokens fit.
  int blocks_missing(std::int64_t num_tokens) const;
  /// Makes room for `num_tokens` tokens in all, and never shrinks. False: the pool has too few blocks, nothing changed.
  bool ensure_capacity(std::int64_t num_tokens);
  /// Adds a block and takes over the caller's reference to it. kNoBlock, which may only stand before all held blocks,
  /// adds an entry that counts as given back.
  void append(BlockId id);
  /// Gives a held block back and puts another one in its place, with the caller's reference to it.
  void replace(int index, BlockId id);
  /// Gives back the tail blocks that `num_tokens` tokens do not need. The last block is freed first, so that a pool,
  /// which hands out the last freed block first, returns them in ascending order.
  void truncate(std::int64_t num_tokens);
  /// Gives back the blocks that lie wholly before `position`.
  void release_before(std::int64_t position);

  /// Reserves room for the ids of `num_tokens` tokens, so that growing up to this number allocates no memory.
  void reserve_ids(std::int64_t num_tokens);

  /// The number of runs of consecutive ids among held blocks: few runs are read faster.
  int num_runs() const;

 private:
  int blocks_for(std::int64_t num_tokens) const;

  BlockPool* pool_;
  int block_size_;
  int first_held_ = 0;
  std::vector<BlockId> blocks_;
};

}  // namespace octavo
