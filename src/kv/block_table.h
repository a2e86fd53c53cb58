// The blocks of one sequence in one attention group: position p lies in slot p % block_size of block p / block_size.
//
// Owned by its sequence; holds one reference to each of its blocks and gives them back when it goes. The pool must
// outlive it. Only the thread that drives the engine may call it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kv/block_pool.h"

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

  int num_blocks() const { return static_cast<int>(blocks_.size()); }
  /// Tokens that fit into the blocks held.
  std::int64_t token_capacity() const { return static_cast<std::int64_t>(blocks_.size()) * block_size_; }
  std::span<const BlockId> block_ids() const { return blocks_; }
  /// The block of that index; none when out of range.
  std::optional<BlockId> get(int index) const;

  /// Blocks that must be taken from the pool before `num_tokens` tokens fit.
  int blocks_missing(std::int64_t num_tokens) const;
  /// Makes room for `num_tokens` tokens in all; never shrinks. False, and nothing changed, when the pool has too few.
  bool ensure_capacity(std::int64_t num_tokens);
  /// Adds a block on which the caller holds a reference; the table holds it from now on.
  void append(BlockId id);
  /// Gives back the tail blocks that `num_tokens` tokens do not need, last one first, so that the pool, which hands
  /// out the block freed last, returns them in ascending order.
  void truncate(std::int64_t num_tokens);

  /// Keeps room for the ids of that many tokens, so that growing up to it does not allocate memory.
  void reserve_ids(std::int64_t num_tokens);

  /// Runs of consecutive ids; blocks per run tell how well the table lies in memory.
  int num_runs() const;

 private:
  int blocks_for(std::int64_t num_tokens) const;

  BlockPool* pool_;
  int block_size_;
  std::vector<BlockId> blocks_;
};

}  // namespace octavo
