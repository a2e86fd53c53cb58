// The blocks of one sequence in one attention group: position p lies in slot p % block_size of block p / block_size.
//
// Holds one reference to each of its blocks and gives them back when it goes. The pool must outlive it. Only the thread
// that uses the pool may call it. A sliding window gives its leading blocks back: their entries stay, as kNoBlock, so
// that an index is always a position divided by the block size. CHECKs what only a bug of the caller's can give it:
// negative numbers of tokens, blocks that are not in use.
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

  /// Entries, those given back included.
  int num_blocks() const { return static_cast<int>(blocks_.size()); }
  /// Tokens that the entries span.
  std::int64_t token_capacity() const { return static_cast<std::int64_t>(blocks_.size()) * block_size_; }
  /// All entries; kNoBlock where given back.
  std::span<const BlockId> block_ids() const { return blocks_; }
  /// The block of that index; none when out of range or given back.
  std::optional<BlockId> get(int index) const;
  /// Index of the first block that is held; num_blocks() if none is.
  int first_held() const { return first_held_; }

  /// Blocks that must be taken from the pool before `num_tokens` tokens fit.
  int blocks_missing(std::int64_t num_tokens) const;
  /// Makes room for `num_tokens` tokens in all; never shrinks. False, and nothing changed, when the pool has too few.
  bool ensure_capacity(std::int64_t num_tokens);
  /// Adds a block on which the caller holds a reference; the table holds it from now on. kNoBlock adds an entry that
  /// counts as given back; only in front of all blocks that are held.
  void append(BlockId id);
  /// Puts another block, on which the caller holds a reference, in the place of a held one, which is given back.
  void replace(int index, BlockId id);
  /// Gives back the tail blocks that `num_tokens` tokens do not need, last one first, so that the pool, which hands
  /// out the block freed last, returns them in ascending order.
  void truncate(std::int64_t num_tokens);
  /// Gives back the blocks that lie wholly before `position`.
  void release_before(std::int64_t position);

  /// Keeps room for the ids of that many tokens, so that growing up to it does not allocate memory.
  void reserve_ids(std::int64_t num_tokens);

  /// Runs of consecutive ids among the blocks held; blocks per run tell how well the table lies in memory.
  int num_runs() const;

 private:
  int blocks_for(std::int64_t num_tokens) const;

  BlockPool* pool_;
  int block_size_;
  int first_held_ = 0;
  std::vector<BlockId> blocks_;
};

}  // namespace octavo
